// Starts Swagger UI if the application has it, else lists the operations of the document.
if (window.SwaggerUIBundle) {
  SwaggerUIBundle({url: 'openapi.json', dom_id: '#ui', validatorUrl: null});
} else {
  fetch('openapi.json').then(response => response.json()).then(api => {
    const add = (parent, name, text) => {
      const element = parent.appendChild(document.createElement(name));
      element.textContent = text; // never HTML: clients of the application may control it
      return element;
    };
    const ui = document.getElementById('ui');
    document.title = api.info.title;
    add(ui, 'h1', api.info.title + ' ' + api.info.version);
    const table = add(ui, 'table', '');
    for (const [path, operations] of Object.entries(api.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        const row = add(table, 'tr', '');
        add(row, 'td', method.toUpperCase());
        add(row, 'td', path);
        add(row, 'td', operation.summary || '');
      }
    }
  });
}
