import { randomInt } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { toFiles } from '../api/content.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { startCaddyCa } from '../tools/caddy-ca.ts'
import { startPebble } from '../tools/pebble.ts'
import { freePort } from '../tools/port.ts'
import { type RecordingProxy, startRecordingProxy } from './recording-proxy.ts'

export interface CaFixtureOptions {
  ca: 'pebble' | 'caddy'
  /** The only challenge type that the CA can validate: the ports of the others have no listener. */
  type: ChallengeType
  names: readonly string[]
  /** Maximum delay in seconds before Pebble validates a challenge. */
  delay: number
}

/** A real service with one site, and a real CA behind a recording proxy, which validates against the service. */
export interface CaFixture extends AsyncDisposable {
  service: RunningService
  ca: RecordingProxy
  /** PEM of the root of issued certificates. */
  root: string
  slug: string
  /** The HTTPS address of the service. */
  address: { host: string; port: number }
  /** Value of SLIPWAY_DNS_HOOK when the CA validates by DNS-01. */
  hook: string | undefined
}

/** The content of the site. */
export const CONTENT = 'the content of the site'

interface Endpoint {
  host: string
  http: number
  https: number
}

interface StartedCa {
  ca: { directory: string; caFile: string }
  root: string
  records?: string
}

/** A loopback port without a listener. */
const UNUSED_PORT = 1

export async function startCaFixture(options: CaFixtureOptions): Promise<CaFixture> {
  await using started = new AsyncDisposableStack()
  const endpoint = await chooseEndpoint(options)
  const { ca: upstream, root, records } = await startCa(started, options, endpoint)
  const ca = started.use(await startRecordingProxy(upstream))
  const service = started.use(await startServiceAt(endpoint, ca))
  const client = service.client(await service.signIn('owner@example.com'))
  const { slug } = await client.publish({ files: toFiles({ 'index.html': CONTENT }) })
  const hook = records && (await writeHook(join(service.data, 'dns-hook'), records))
  const owned = started.move()
  const address = { host: endpoint.host, port: endpoint.https }
  return { service, ca, root, slug, address, hook, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Caddy validates only at the standard ports, so it gets its own loopback address. */
async function chooseEndpoint({ ca, type }: CaFixtureOptions): Promise<Endpoint> {
  const [http, https] = [await freePort(), await freePort()]
  if (ca === 'pebble') return { host: '127.0.0.1', http, https }
  const host = `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`
  return type === 'http-01' ? { host, http: 80, https } : { host, http, https: 443 }
}

async function startCa(
  started: AsyncDisposableStack,
  { ca: kind, type, names, delay }: CaFixtureOptions,
  { host, http, https }: Endpoint,
): Promise<StartedCa> {
  if (kind === 'caddy') {
    const ca = started.use(await startCaddyCa(Object.fromEntries(names.map((name) => [name, host]))))
    return { ca, root: await readFile(ca.caFile, 'utf8') }
  }
  const httpPort = type === 'http-01' ? http : UNUSED_PORT
  const tlsPort = type === 'tls-alpn-01' ? https : UNUSED_PORT
  const ca = started.use(await startPebble({ httpPort, tlsPort, delay, reuse: 0 }))
  return { ca, root: await ca.root(), ...(type === 'dns-01' ? { records: ca.records } : {}) }
}

function startServiceAt({ host, http, https }: Endpoint, ca: RecordingProxy): Promise<RunningService> {
  return startTestService({
    HOST: host,
    PORT: `${http}`,
    HTTPS_PORT: `${https}`,
    BASE_URL: `http://${host}:${http}`,
    SITE_DOMAIN: 'sites.test',
    ACME_URL: ca.directory,
    ACME_CA_FILE: ca.caFile,
    LOG: 'warn',
  })
}

async function writeHook(file: string, records: string): Promise<string> {
  const lines = [
    '#!/bin/sh',
    'case $1 in present) what=set-txt;; *) what=clear-txt;; esac',
    `exec curl --fail --silent --show-error --data "{\\"host\\":\\"$2.\\",\\"value\\":\\"$3\\"}" ${records}/$what`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  await chmod(file, 0o755)
  return file
}
