import { writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { FOREVER, Issuer } from '../certificates/issuer.ts'
import { startDaemon } from './daemon.ts'

export interface PebbleOptions {
  /** Ports at which it validates every name, on 127.0.0.1. */
  httpPort: number
  tlsPort: number
  /** Percentage of valid nonces that it refuses; default 5. */
  refusedNonces?: number
  /** Maximum delay in seconds before a validation; default 0. */
  delay?: number
  /** Percentage of valid authorizations that it reuses; default 50. */
  reuse?: number
  /** Keys for external account binding, base64url by id; makes binding required. */
  externalAccounts?: Record<string, string>
}

/** A real CA (Pebble, of Let's Encrypt; tests use `requires('pebble')`) with its own DNS. */
export interface Pebble extends AsyncDisposable {
  /** Directory URL, for SLIPWAY_ACME_URL. */
  directory: string
  /** PEM file of the root of its HTTPS certificate, for SLIPWAY_ACME_CA_FILE. */
  caFile: string
  /** PEM of the root of issued certificates. */
  root(): Promise<string>
  /** Adds a TXT record to its DNS, or removes all records of a name. */
  setText(name: string, value: string): Promise<void>
  clearText(name: string): Promise<void>
  /** Where it is logged of records, for programs: `POST /set-txt` and `/clear-txt`. */
  records: string
}

export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  await using started = new AsyncDisposableStack()
  const dns = started.use(await startDns())
  const { refusedNonces = 5, delay = 0, reuse = 50 } = options
  const daemon = started.use(
    await startDaemon({
      name: 'sh',
      ports: 2,
      async prepare(folder, [port, management]) {
        await writeFile(join(folder, 'pebble.json'), await configuration(folder, port!, management!, options))
        return redirectToStderr('pebble', '-config', join(folder, 'pebble.json'), '-dnsserver', dns.address)
      },
      isReady: (line) => line.includes('ACME directory available'),
      printsEarly: true,
      env: {
        PEBBLE_WFE_NONCEREJECT: `${refusedNonces}`,
        PEBBLE_AUTHZREUSE: `${reuse}`,
        ...(delay === 0 ? { PEBBLE_VA_NOSLEEP: '1' } : { PEBBLE_VA_SLEEPTIME: `${delay}` }),
      },
    }),
  )
  const [port, management] = daemon.ports
  const caFile = join(daemon.folder, 'ca.pem')
  const owned = started.move()
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    caFile,
    root: () => fetchRoot(management!),
    setText: (name, value) => dns.post('set-txt', { host: `${name}.`, value }),
    clearText: (name) => dns.post('clear-txt', { host: `${name}.` }),
    records: dns.records,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** A DNS server that resolves every name to 127.0.0.1. */
async function startDns() {
  const daemon = await startDaemon({
    name: 'sh',
    ports: 2,
    prepare: async (_, [dns, management]) =>
      redirectToStderr(
        'pebble-challtestsrv',
        ...['-management', `127.0.0.1:${management}`, '-dns01', `127.0.0.1:${dns}`],
        ...['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv4', '127.0.0.1', '-defaultIPv6', ''],
      ),
    isReady: (line) => line.includes('Starting management server'),
    printsEarly: true,
  })
  const [dns, management] = daemon.ports
  const records = `http://127.0.0.1:${management}`
  return {
    address: `127.0.0.1:${dns}`,
    records,
    async post(what: string, about: object): Promise<void> {
      const answer = await fetch(`${records}/${what}`, { method: 'POST', body: JSON.stringify(about) })
      if (!answer.ok) throw new Error(`${what}: ${answer.status}`)
    },
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

/** Shell arguments that run a program with standard output redirected to standard error. */
function redirectToStderr(...command: string[]): string[] {
  return ['-c', 'exec "$@" >&2', 'sh', ...command]
}

async function configuration(
  folder: string,
  port: number,
  management: number,
  { httpPort, tlsPort, externalAccounts }: PebbleOptions,
): Promise<string> {
  const issuer = await Issuer.create()
  const { chain, key } = await issuer.issueWithKey({ names: ['localhost', '127.0.0.1'], ...FOREVER })
  await writeFile(join(folder, 'ca.pem'), issuer.root)
  await writeFile(join(folder, 'chain.pem'), chain)
  await writeFile(join(folder, 'key.pem'), key)
  return JSON.stringify({
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: join(folder, 'chain.pem'),
      privateKey: join(folder, 'key.pem'),
      httpPort,
      tlsPort,
      certificateValidityPeriod: 90 * 86_400,
      externalAccountBindingRequired: externalAccounts !== undefined,
      externalAccountMACKeys: externalAccounts ?? {},
    },
  })
}

async function fetchRoot(management: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const url = `https://127.0.0.1:${management}/roots/0`
  get(url, { rejectUnauthorized: false }, (answer) => text(answer).then(resolve, reject)).on('error', reject)
  return promise
}
