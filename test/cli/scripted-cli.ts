import { join } from 'node:path'
import { CliHarness } from './cli-harness.ts'
import { errorResponse, FakeServer } from './fake-server.ts'

/** The API key that a sign-in returns. */
export const KEY = 'sl_live_0123456789abcdef0123456789abcdef'

/** A CLI and a server with scripted responses by "METHOD /path"; any other request gets 404. */
export async function startScriptedCli(overrides: Record<string, unknown> = {}) {
  const server = await FakeServer.start()
  const cli = new CliHarness()
  cli.env.SLIPWAY_URL = server.url
  const responses: Record<string, unknown> = {
    'POST /api/auth/agent/request-code': {
      message: 'Sent',
      email: 'ann@example.test',
      expiresInSeconds: 600,
      attempt: 'an-attempt',
    },
    'POST /api/auth/agent/verify-code': {
      apiKey: KEY,
      email: 'ann@example.test',
      plan: 'free',
      isNewUser: true,
      keyName: 'ann@desk',
    },
    ...overrides,
  }
  server.reply(/./, ({ method, path }) => {
    const body = responses[`${method} ${path}`]
    return body === undefined ? errorResponse(404, 'NOT_FOUND') : [200, body]
  })
  return {
    server,
    cli,
    responses,
    config: join(cli.home, '.config/slipway/config.json'),
    remember: (slug: string, more: object = {}) => {
      const site = { server: server.url, slug, ...more }
      cli.siteMemory.remember(join(cli.cwd, slug), site)
    },
    bodies: () => server.calls.map(({ body }) => (body.length > 0 ? JSON.parse(body.toString()) : undefined)),
    async [Symbol.asyncDispose]() {
      cli[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}
