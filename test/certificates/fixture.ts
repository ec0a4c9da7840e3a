import { join } from 'node:path'
import { makeLog } from '../../server/log.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { Certificates } from '../../server/tls/issuing/certificates.ts'
import type { IssuingParts } from '../../server/tls/issuing/parts.ts'
import { Seal } from '../../server/tls/seal.ts'
import { domainRow } from '../store/rows.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { SimulatedCa, type SimulatedCaOptions } from './simulated-ca.ts'
import { readStandIn, standIns } from './stand-in.ts'

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export const NAME = 'www.example.test'

/** A simulated CA, a real store and what tends certificates over it, on a clock that a test moves. */
export async function startIssuing(options: Partial<Omit<SimulatedCaOptions, 'clock'>> = {}) {
  const stack = new AsyncDisposableStack()
  const time = { now: Date.UTC(2030, 0, 1) }
  const clock = () => time.now
  const folder = stack.use(await memoryFolder())
  const file = join(folder.path, 'slipway.db')
  const store = stack.use(await sqliteStore({ file, clock }))
  const log: Record<string, unknown>[] = []
  const seal = new Seal('a secret of thirty-two characters')
  const ca = new SimulatedCa({ clock, life: 90 * DAY, ...options })
  const parts: IssuingParts = {
    store,
    acme: ca,
    seal,
    clock,
    log: makeLog({ level: 'debug', text: false, write: (line) => void log.push(JSON.parse(line)) }),
    own: [],
    form: standIns,
  }
  const node = (change: Partial<IssuingParts> = {}) => stack.use(new Certificates({ ...parts, ...change }))
  const row = async (name = NAME) => (await store.read.certificates.find(name))!
  return {
    time,
    store,
    ca,
    log,
    parts,
    /** A process of the service. */
    node,
    row,
    /** Opens the store as another process does. */
    openStore: async () => stack.use(await sqliteStore({ file, clock })),
    /** What is served for a name: opened, and with the key that it is for. */
    async served(name = NAME) {
      const { chain, key } = await row(name)
      if (chain === null) return undefined
      const opened = seal.open(key!, `certificate ${name}`)
      return { ...readStandIn(chain), fits: readStandIn(chain).key === opened }
    },
    /** Goes to the time at which something is due for a name, and does it. */
    async next(certificates: Certificates, name = NAME): Promise<number> {
      const { due_at } = await row(name)
      time.now = Math.max(time.now + 10 * SECOND, due_at!)
      return certificates.tend()
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export type Issuing = Awaited<ReturnType<typeof startIssuing>>

/** Makes a domain active, as its proofs do. */
export async function activate(store: Store, certificates: Certificates, name = NAME): Promise<void> {
  await store.write('durable', async (tx) => {
    await tx.domains.insert(domainRow(name, { status: 'active' }))
    await certificates.want(tx, name)
  })
}

/** Makes it pending again. */
export async function deactivate(store: Store, certificates: Certificates, name = NAME): Promise<void> {
  await store.write('durable', async (tx) => {
    await tx.domains.remove('an-account', name)
    await certificates.release(tx, name)
  })
}
