import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { type OperatorContext, openForOperator, type Service, startService } from '../../server/app.ts'
import type { StartOptions } from '../../server/backends.ts'
import { readConfig } from '../../server/config/settings.ts'
import type { Deadlines } from '../../server/lib/deadlines.ts'
import { makeLog } from '../../server/lib/log.ts'
import type { Store } from '../../server/store/store.ts'
import { openTestStore, withEngines, writeEmptyDatabase } from './engines.ts'
import { PATIENT } from './patient.ts'
import { silentLog } from './silent-log.ts'

/** A real service in this process, on a free port and in a temporary folder. */
export interface RunningService extends AsyncDisposable {
  service: Service
  baseUrl: string
  port: number
  data: string
  /** The settings of a command beside it. */
  settings: Record<string, string>
  /** Parsed log lines. */
  log: Record<string, unknown>[]
  /** The clock of the service in milliseconds, which tests can set. */
  clock: Clock
  /** The SDK without a key, or with one. */
  client(key?: string): Slipway
  /** Signs in with a code sent by email; returns the API key. */
  signIn(email: string): Promise<string>
  /** The code in the newest message to an address. */
  mailedCode(email: string): Promise<string>
}

export interface Clock {
  now: number
}

export interface TestServiceOptions extends Pick<StartOptions, 'scheduledSweeps'> {
  deadlines?: Partial<Deadlines>
  /** Watches or changes what the service does with its store. */
  wrapStore?: (store: Store) => Store
}

/**
 * Starts a service; `settings` are environment variables without `SLIPWAY_`, `now` is its initial time. Rate limits are
 * high by default, all sweeps run by schedule, and nothing has a deadline but what a test gives one.
 */
export async function startTestService(
  settings: Record<string, string> = {},
  now = Date.now(),
  { scheduledSweeps, deadlines, wrapStore }: TestServiceOptions = {},
): Promise<RunningService> {
  const data = settings.DATA ?? (await createDataFolder())
  const usual = {
    RATE_ANONYMOUS: '1000000',
    RATE_FREE: '1000000',
    RATE_HOBBY: '1000000',
    RATE_SESSION: '1000000',
    RATE_SIGN_IN: '1000000',
    // No DNS server listens there, so that tests send no queries to the internet.
    DNS_SERVERS: '127.0.0.1:1',
    // A public name, which custom domains need.
    PROXY_HOST: 'domains.slipway-test.net',
    // Independent of the free space of the test machine.
    DISK_RESERVE: '0',
    READY_SECONDS: '0',
  }
  const given = { PORT: '0', DRAIN_SECONDS: '5', LOG: 'debug', ...usual, ...settings, DATA: data }
  const environment = Object.entries(given).map(([name, value]) => [`SLIPWAY_${name}`, value])
  const log: Record<string, unknown>[] = []
  const clock = { now }
  const config = readConfig(Object.fromEntries(environment))
  const options = {
    log: makeLog({ level: config.log, text: false, write: (line) => void log.push(JSON.parse(line)) }),
    version: 'test',
    clock: () => clock.now,
    deadlines: { ...PATIENT, ...deadlines },
    ...(scheduledSweeps && { scheduledSweeps }),
  }
  const [chosen, engines] = await withEngines(config, options)
  const openStore = wrapStore && {
    openStore: async () => wrapStore(await openTestStore({ folder: data, clock: options.clock })),
  }
  const service = await startService(chosen, { ...engines, ...openStore })
  const transport = nodeTransport({})
  const client = (key?: string) =>
    new Slipway({ baseUrl: service.baseUrl, send: transport.send, ...(key === undefined ? {} : { key }) })
  const mailedCode = (email: string) => newestCode(join(data, 'mail'), email)
  return {
    service,
    baseUrl: service.baseUrl,
    port: service.port,
    data,
    settings: { ...given, PORT: `${service.port}` },
    log,
    clock,
    client,
    mailedCode,
    async signIn(email) {
      await client().requestCode(email)
      const { apiKey } = await client().verifyCode(email, await mailedCode(email))
      return apiKey
    },
    async [Symbol.asyncDispose]() {
      transport.close()
      await service[Symbol.asyncDispose]()
      if (settings.DATA === undefined) await rm(data, { recursive: true, force: true })
    },
  }
}

async function createDataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-test-'))
  await writeEmptyDatabase(folder)
  return folder
}

/** Opens the parts of a running service once more, as the commands of its operator do. */
export async function openOperator(
  { data, baseUrl, clock }: RunningService,
  settings: Record<string, string>,
): Promise<OperatorContext & AsyncDisposable> {
  const given = Object.entries({ BASE_URL: baseUrl, ...settings, DATA: data })
  const config = readConfig(Object.fromEntries(given.map(([name, value]) => [`SLIPWAY_${name}`, value])))
  const options = { log: silentLog, version: 'test', clock: () => clock.now, deadlines: PATIENT }
  // A service without a base URL has one with its port, which is not that of its settings.
  return openForOperator(...(await withEngines(config, options)), { uses: 'none' })
}

/** The newest code that was emailed to an address, from the folder of the emails. */
export async function newestCode(folder: string, email: string): Promise<string> {
  const letters = (await readdir(folder)).sort(byNumber).reverse()
  for (const name of letters) {
    const letter = await readFile(join(folder, name), 'utf8')
    const code = /^ {4}([A-Z2-9]{4}-[A-Z2-9]{4})\r?$/m.exec(letter)?.[1]
    if (code !== undefined && letter.includes(`To: ${email}`)) return code
  }
  throw new Error(`no code for ${email}`)
}

function byNumber(one: string, other: string): number {
  const number = (name: string) => Number(/-(\d+)\.eml$/.exec(name)?.[1])
  return number(one) - number(other)
}
