import { CertificateManager } from '../../server/certificates/certificates.ts'
import type { IssuingDeps } from '../../server/certificates/deps.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { DAY_MS, SECOND_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import { domainRow } from '../store/rows.ts'
import { openTestStore } from '../support/engines.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import {
  fakeCodec,
  noCaa,
  readFakeCertificate,
  SimulatedCa,
  type SimulatedCaOptions,
} from './simulated-ca.ts'

export const NAME = 'www.example.test'

/** A simulated CA, a real store and certificate managers, on a clock that the test advances. */
export async function startIssuing(options: Partial<Omit<SimulatedCaOptions, 'clock'>> = {}) {
  const stack = new AsyncDisposableStack()
  const time = { now: Date.UTC(2030, 0, 1) }
  const clock = () => time.now
  const folder = stack.use(await memoryFolder())
  const openStore = async () => stack.use(await openTestStore({ folder: folder.path, clock }))
  const store = await openStore()
  const log: Record<string, unknown>[] = []
  const secretBox = new SecretBox('a secret of thirty-two characters')
  const ca = new SimulatedCa({ clock, life: 90 * DAY_MS, ...options })
  const parts: IssuingDeps = {
    store,
    acme: ca,
    directory: 'https://ca.example/directory',
    dns: noCaa,
    secretBox,
    clock,
    log: makeLog({ level: 'debug', text: false, write: (line) => void log.push(JSON.parse(line)) }),
    own: [],
    codec: fakeCodec,
  }
  const node = (change: Partial<IssuingDeps> = {}) =>
    stack.use(new CertificateManager({ ...parts, ...change }))
  const row = async (name = NAME) => (await store.read.certificates.find(name))!
  return {
    time,
    store,
    ca,
    log,
    parts,
    /** Creates the certificate manager of another process. */
    node,
    row,
    /** Opens the store as another process does. */
    openStore,
    /** The stored certificate of a name, with whether its key matches. */
    async served(name = NAME) {
      const { chain, key } = await row(name)
      if (chain === null) return undefined
      const opened = secretBox.decrypt(key!, `certificate ${name}`)
      return { ...readFakeCertificate(chain), fits: readFakeCertificate(chain).key === opened }
    },
    /** Advances the clock until a name is due, and runs. */
    async next(certificates: CertificateManager, name = NAME): Promise<number> {
      const { dueAt } = await row(name)
      time.now = Math.max(time.now + 10 * SECOND_MS, dueAt!)
      return certificates.runDue()
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** The same with one process and one active domain. */
export async function startActive(options: Partial<Omit<SimulatedCaOptions, 'clock'>> = {}) {
  const issuing = await startIssuing(options)
  const certificates = issuing.node()
  await activate(issuing.store, certificates)
  return { ...issuing, certificates }
}

export type Issuing = Awaited<ReturnType<typeof startIssuing>>

/** Adds an active domain; by default each has its own account. */
export async function activate(
  store: Store,
  certificates: CertificateManager,
  name = NAME,
  accountId = accountOf(name),
): Promise<void> {
  await store.write('durable', {}, async (tx) => {
    await tx.domains.insert(domainRow(name, { status: 'active', accountId }))
    await certificates.request(tx, name)
  })
}

/** Adds active domains of an account each; returns their names. */
export async function activateMany(
  store: Store,
  certificates: CertificateManager,
  count: number,
): Promise<string[]> {
  const names = Array.from({ length: count }, (_, number) => `www.domain-${number}.test`)
  for (const name of names) await activate(store, certificates, name)
  return names
}

/** Removes the domain and releases its certificate. */
export async function deactivate(store: Store, certificates: CertificateManager, name = NAME): Promise<void> {
  await store.write('durable', {}, async (tx) => {
    await tx.rows.remove('domains', { accountId: accountOf(name), domain: name })
    await certificates.release(tx, name)
  })
}

function accountOf(name: string): string {
  return `account of ${name}`
}
