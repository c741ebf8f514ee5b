// The keyboard in the console.
