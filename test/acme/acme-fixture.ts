import { join } from 'node:path'
import type { Acme, ChallengeSolver, Order } from '../../packages/acme-client/acme.ts'
import { type AcmeOptions, acmeClient } from '../../packages/acme-client/client.ts'
import { generateKey } from '../../packages/acme-client/jws.ts'
import { checkChain, createCsr } from '../../packages/acme-client/x509.ts'
import { StoredAcmeAccount } from '../../server/certificates/acme-account.ts'
import type { Log, LogFields } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { PATIENT } from '../support/patient.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

export interface AcmeFixture extends AsyncDisposable {
  acme: Acme
  store: Store
  /** The account in that store. */
  account(parts?: Partial<ConstructorParameters<typeof StoredAcmeAccount>[0]>): StoredAcmeAccount
  /** Log entries, and the duration of each pause of the client. */
  logged: { message: string; fields: LogFields }[]
  pauses: number[]
  /** Creates a client as another process of the same service does. */
  openAnother(change?: Partial<AcmeOptions>): Acme & Disposable
}

/** An ACME client with its own store. Pauses take a tenth of the requested time. */
export async function startAcmeFixture(
  ca: { directory: string; caFile: string },
  change: Partial<AcmeOptions> = {},
): Promise<AcmeFixture> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await memoryFolder())
  const file = join(folder.path, 'slipway.db')
  const store = opened.use(
    await sqliteStore({ file, clock: Date.now, deadlines: PATIENT, pollIntervalMs: 1000 }),
  )
  const logged: AcmeFixture['logged'] = []
  const pauses: number[] = []
  const account: AcmeFixture['account'] = (parts = {}) =>
    new StoredAcmeAccount({
      ...{ store, clock: Date.now, secretBox: new SecretBox('secret'), directory: ca.directory },
      ...parts,
    })
  const options: AcmeOptions = {
    account: account(),
    ...{ directory: ca.directory, caFile: ca.caFile, deadlines: PATIENT.authority },
    ...{ email: '', profile: '', version: '0', clock: Date.now, log: logInto(logged) },
    ...change,
    pause(ms) {
      pauses.push(ms)
      return change.pause?.(ms) ?? new Promise((resolve) => setTimeout(resolve, ms / 10))
    },
  }
  const owned = opened.move()
  const openAnother = (more: Partial<AcmeOptions> = {}) => owned.use(acmeClient({ ...options, ...more }))
  return {
    acme: openAnother(),
    store,
    account,
    logged,
    pauses,
    openAnother,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Places an order and completes it; returns the verified chain with its key. */
export async function obtain(
  acme: Acme,
  names: readonly string[],
  { proofs, replaces }: { proofs: ChallengeSolver; replaces?: string },
): Promise<{ chain: string; key: string; order: Order }> {
  const placed = await acme.newOrder(names, replaces)
  const ready = placed.status === 'pending' ? await acme.authorize(placed, proofs) : placed
  const key = generateKey()
  const order = await acme.finalize(ready, await createCsr(names, key))
  const checked = checkChain(await acme.download(order), { names, key, now: Date.now() })
  if (checked.problem !== undefined) throw new Error(checked.problem)
  return { chain: checked.chain, key, order }
}

function logInto(logged: AcmeFixture['logged']): Log {
  const at = (message: string, fields: LogFields = {}) => {
    logged.push({ message, fields })
  }
  return {
    debug: at,
    info: at,
    warn: at,
    error: at,
    summarize: (_level, message, fields) => at(message, fields),
  }
}
