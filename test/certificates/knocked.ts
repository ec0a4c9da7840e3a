import { randomInt } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChallengeType } from '../../server/tls/acme/acme.ts'
import { filesOf } from '../api/content.ts'
import { type RunningService, startTestService } from '../service.ts'
import { startCaddyCa } from '../tools/caddy-ca.ts'
import { startPebble } from '../tools/pebble.ts'
import { freePort } from '../tools/port.ts'

export interface KnockedOptions {
  ca: 'pebble' | 'caddy'
  /** The only way in which the CA finds a proof: where it looks for others nobody listens. */
  type: ChallengeType
  names: readonly string[]
  /** Seconds that Pebble waits at most before it looks at a proof. */
  delay: number
}

/** A real service with one site, and a real CA that knocks on its ports. */
export interface Knocked extends AsyncDisposable {
  service: RunningService
  ca: { directory: string; caFile: string }
  /** PEM of the root of what the CA issues. */
  root: string
  /** The slug of the site. */
  slug: string
  /** Where HTTPS is spoken. */
  address: { host: string; port: number }
  /** A program for SLIPWAY_DNS_HOOK, where DNS is where the CA looks. */
  hook?: string
}

export const CONTENT = 'what the site shows'

export async function startKnocked(options: KnockedOptions): Promise<Knocked> {
  await using started = new AsyncDisposableStack()
  const { ca, slug: _, ...rest } = options.ca === 'pebble' ? await atPebble(started, options) : await atCaddy(started, options)
  const account = await rest.service.signIn('owner@example.com')
  const published = await rest.service.client(account).publish({ files: filesOf({ 'index.html': CONTENT }) })
  const owned = started.move()
  return { ...rest, ca, slug: published.slug, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
