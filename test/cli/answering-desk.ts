import { join } from 'node:path'
import { SiteMemory } from '../../client/cli/state/site-memory.ts'
import { CliHarness } from './desk.ts'
import { answer, FakeServer, failure } from './peer.ts'

/** The key that a sign-in brings. */
export const KEY = 'sl_live_0123456789abcdef0123456789abcdef'

/** A desk and a server whose answers are given by "METHOD /path". */
export async function startAnsweringCli(answers: Record<string, unknown> = {}) {
  const peer = await FakeServer.start()
  const desk = new CliHarness()
  desk.env.SLIPWAY_URL = peer.url
  const all: Record<string, unknown> = {
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
    },
    ...answers,
  }
  peer.misbehave = ({ method, path }, _request, response) => {
    const found = all[`${method} ${path}`]
    if (found === undefined) answer(response, ...failure(404, 'NOT_FOUND'))
    else answer(response, 200, found)
    return true
  }
  return {
    peer,
    desk,
    config: join(desk.home, '.config/slipway/config.json'),
    remember: (slug: string, more: object = {}) => {
      const site = { server: peer.url, slug, siteUrl: `http://${slug}.sites.test/`, ...more }
      new SiteMemory(desk.cwd).remember(join(desk.cwd, slug), site)
    },
    bodies: () => peer.calls.map(({ body }) => (body.length > 0 ? JSON.parse(body.toString()) : undefined)),
    async [Symbol.asyncDispose]() {
      desk[Symbol.dispose]()
      await peer[Symbol.asyncDispose]()
    },
  }
}
