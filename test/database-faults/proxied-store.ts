import { setImmediate as turn } from 'node:timers/promises'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import type { Store } from '../../server/store/store.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'

/** `timeouts` are those that expire in the test. */
export type StoreOptions = Omit<Parameters<typeof postgresStore>[0], 'url' | 'timeouts'> & {
  timeouts?: Partial<typeof PATIENT_TIMEOUTS>
}

/** A store whose connections pass a proxy, and the database behind it. */
export interface ProxiedStore {
  store: Store
  proxy: TcpProxy
  /** Without the proxy. */
  url: string
  /** Runs SQL in the database, without the proxy. */
  run(sql: string): Promise<Record<string, unknown>[]>
}

/** Borrows a database, to which `proxied` leads through a proxy. */
export async function borrowProxied(stack: AsyncDisposableStack) {
  const server = await sharedPostgres()
  const { url, run } = stack.use(await server.borrowDatabase())
  const proxy = stack.use(await TcpProxy.open(server.port))
  const proxied = new URL(url)
  proxied.port = `${proxy.port}`
  return { url, run, proxy, proxied: proxied.href, serverPort: server.port }
}

/** Opens a store on a new database. */
export async function openProxied(
  stack: AsyncDisposableStack,
  { timeouts, ...options }: StoreOptions = {},
): Promise<ProxiedStore> {
  const { url, run, proxy, proxied } = await borrowProxied(stack)
  const store = stack.use(
    await postgresStore({
      url: proxied,
      pollIntervalMs: 20,
      ...options,
      timeouts: { ...PATIENT_TIMEOUTS, ...timeouts },
    }),
  )
  return { store, proxy, url, run: async (sql) => (await run(sql)).rows }
}

/** Whether an error is the contract's UNAVAILABLE. */
export function isUnavailable(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'UNAVAILABLE'
}

/** What a store has been notified of, `everything` included. */
export function recordChanges(store: Store) {
  const names: string[] = []
  let more = Promise.withResolvers<void>()
  store.onChange((changed) => {
    names.push(...(changed ?? ['everything']))
    more.resolve()
    more = Promise.withResolvers()
  })
  return {
    names,
    /** Resolves once the name was notified. */
    async waitFor(name: string) {
      while (!names.includes(name)) await more.promise
    },
  }
}

const MAX_TURNS = 100_000

/** Repeats `work` until the store has a connection again. */
export async function whenReconnected<T>(work: () => Promise<T>, maxTurns = MAX_TURNS): Promise<T> {
  for (let turns = 0; ; turns++) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error) || turns === maxTurns) throw error
      await turn()
    }
  }
}
