import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import { DomainWatchers } from '../../server/domains/watch.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { makeLog } from '../../server/lib/log.ts'
import type { Account } from '../../server/store/contract/accounts.ts'
import type { Domain } from '../../server/store/contract/domains.ts'
import type { Store } from '../../server/store/store.ts'

const silent = { record() {}, heartbeat() {}, removed() {}, end() {} }

test('one network with many accounts cannot exhaust the limit of domain watchers', async () => {
  const following = new DomainWatchers({
    store: { read: { domains: { byAccounts: async () => [] } } } as unknown as Store,
    clock: () => 0,
    log: makeLog({ level: 'silent', text: false, write: () => undefined }),
    records: async () => [{} as DomainRecord],
    verify: async () => undefined,
  })
  const row = { status: 'active', checkedAt: 0, nextCheckAt: 0, createdAt: 0 } as unknown as Domain
  let accounts = 0
  const watch = (address: string) => {
    const account = { id: `account${accounts++}` } as Account
    return following.watch({ account, sessionToken: undefined, address }, row, silent)
  }
  const stop = await watch('2001:db8::1')
  for (let n = 2; n <= 50; n++) await watch(`2001:db8::${n}`)
  await assert.rejects(watch('2001:db8::51'), isUnavailable)
  await watch('192.0.2.1')
  stop()
  await watch('2001:db8::51')
  await following.end()
})

function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAVAILABLE' && error.retryAfterSeconds === 60
}
