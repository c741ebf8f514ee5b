// The API's documentation: Swagger UI, in the colours that the reader has chosen (theme.js), or else her system.
"use strict";

(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const colour = () => {
    const theme = root.dataset.theme || (system.matches ? "dark" : "light");
    root.classList.toggle("dark-mode", theme === "dark"); // Swagger UI's own name for it
  };

  colour();
  system.addEventListener("change", colour);

  SwaggerUIBundle({
    url: document.getElementById("swagger-ui").dataset.schema,
    dom_id: "#swagger-ui",
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    defaultModelsExpandDepth: 0, // the operations show their schemas, so the list of all stays closed
  });
})();
