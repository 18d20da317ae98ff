// Load for the check of the page, and a server with the API of OpenAI. Usage:
//   node load.mjs upstream        prints its port
//   node load.mjs load PORT ADMIN requests until it is ended
import http from 'node:http';

const [kind, port, admin] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
const later = ms => new Promise(done => setTimeout(done, ms));

function send(path, { method = 'GET', headers = {}, body, to = port } = {}) {
  return new Promise(done => {
    const request = http.request({ host: '127.0.0.1', port: to, path, method, headers, agent }, answer => {
      answer.resume().on('end', () => done(answer.statusCode)).on('error', () => done(0));
    });
    request.on('error', () => done(0)).end(body);
  });
}

async function upstream(request, response) {
  if (request.url === '/health') return response.end('ok');
  let body = '';
  for await (const part of request) body += part;
  const { stream, messages = [] } = JSON.parse(body || '{}');
  const words = `You wrote ${messages.at(-1)?.content.length ?? 0} characters. Red, green and blue.`.split(' ');
  const usage = { prompt_tokens: 12, completion_tokens: words.length, total_tokens: 12 + words.length };
  if (!stream) {
    await later(60);
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ id: 'x', object: 'chat.completion', model: 'smol', usage,
      choices: [{ index: 0, message: { role: 'assistant', content: words.join(' ') }, finish_reason: 'stop' }] }));
  }
  response.setHeader('content-type', 'text/event-stream');
  const event = delta => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'smol',
    choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
  for (const word of words) { event({ content: `${word} ` }); await later(40); }
  response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'smol', choices: [], usage })}\n\n`);
  response.end('data: [DONE]\n\n');
}

async function loop(width, pause, make) {
  await Promise.all(Array.from({ length: width }, async () => {
    for (let turn = 0; ; turn++) {
      await send(...make(turn));
      await later(pause * (0.5 + Math.random()));
    }
  }));
}

if (kind === 'upstream') {
  const server = http.createServer((request, response) => upstream(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
} else {
  const wave = () => 1 + Math.sin(Date.now() / 20_000);
  loop(6, 40, () => ['/shop']);
  loop(4, 60, turn => ['/digits', { headers: turn % 20 ? {} : { 'x-canary': '1' } }]);
  loop(8, 40, () => ['/squares', { method: 'POST', body: '3' }]);
  loop(8, 500, () => [`/scaled?ms=${Math.round(300 * wave())}`]);
  loop(1, 400, () => ['/hostile']);
  loop(1, 900, turn => ['/llm/v1/chat/completions', { method: 'POST', body: JSON.stringify({ model: 'smol',
    stream: turn % 2 === 0, messages: [{ role: 'user', content: 'Name three colours.' }] }) }]);
  loop(1, 4000, () => ['/api/v1/applications/shop/deployments/cart/reservations',
    { method: 'POST', to: admin, headers: { 'content-type': 'application/json' }, body: '{"ttl_s": 3}' }]);
  // A burst that has to wait: these requests have an id that the check looks for.
  (async () => {
    for (let turn = 0; ; turn++) {
      await Promise.all(Array.from({ length: 20 }, (none, each) =>
        send('/shop?ms=80', { headers: { 'x-request-id': `burst-${turn}-${each}`, 'x-berth-explain': '1' } })));
      await later(8000);
    }
  })();
}
