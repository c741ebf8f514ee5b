// Live updates of the console.
