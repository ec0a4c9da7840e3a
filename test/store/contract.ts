import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { WriteTransaction } from '../../server/store/store.ts'
import { storeAdministration } from './administration.ts'
import { storeBlobs } from './blobs.ts'
import { storeCertificates } from './certificates.ts'
import { storeChanges } from './changes.ts'
import { storeFleet } from './fleet.ts'
import { storeKeys } from './keys.ts'
import { storeModeration } from './moderation.ts'
import { storeOAuth } from './oauth.ts'
import { storeQueries } from './queries.ts'
import { accountRow, blob, domainRow, keyRow, plain, siteRow, versionRow } from './rows.ts'
import { storeSharedState } from './shared-state.ts'
import { storeSignIns } from './sign-ins.ts'
import { PROCESSES, TaskProcesses, TIMES } from './task-processes.ts'
import type { TestDatabase } from './test-database.ts'
import { storeVisits } from './visits.ts'

/** Opens another store on the data of a test, as another process does. */
export type Open = TestDatabase['open']

/** Registers a test of one promise, with its own data. */
export type Promises = (
  sentence: string,
  check: (open: Open, database: TestDatabase) => Promise<void>,
) => void

interface Engine {
  name: string
  /** Makes a place without data. */
  fresh(): Promise<TestDatabase>
  /** Why its tests are skipped. */
  skip?: string
}

/** What server/store/store.ts promises; every engine passes all of it. */
export function storeContract(engine: Engine): void {
  const promises = promisesOf(engine)
  storeSessions(engine)
  storeUniqueRules(promises)
  storeSharedState(promises)
  storeQueries(promises)
  storeAdministration(promises)
  storeBlobs(promises)
  storeCertificates(promises)
  storeKeys(promises)
  storeSignIns(promises)
  storeOAuth(promises)
  storeModeration(promises)
  storeVisits(promises)
  storeFleet(promises)
}

/** The part of the contract that depends on transactions, locks and notifications of sessions. */
export function storeSessions(engine: Engine): void {
  const promises = promisesOf(engine)
  storeWrites(promises)
  storeProcesses(promises)
  storeChanges(promises)
}

function promisesOf({ name, fresh, ...options }: Engine): Promises {
  return (sentence, check) =>
    test(`${name}: ${sentence}`, options, async () => {
      await using database = await fresh()
      await check(database.open, database)
    })
}

function storeWrites(promises: Promises): void {
  promises('a write is visible to all readers once it resolves, and to none before', async (open) => {
    const [one, other] = [await open(), await open()]
    const readAll = async () => [
      await one.read.sites.find('a-site'),
      await one.read.versions.find('v1'),
      await other.read.sites.find('a-site'),
      await other.read.versions.find('v1'),
    ]
    const answer = await one.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('a-site'))
      assert.deepEqual(await readAll(), [undefined, undefined, undefined, undefined])
      assert.equal((await tx.sites.find('a-site'))?.slug, 'a-site', 'a write sees what it wrote')
      await tx.rows.insert('versions', versionRow('v1', 'a-site'))
      assert.deepEqual(await readAll(), [undefined, undefined, undefined, undefined])
      return 'an answer'
    })
    assert.equal(answer, 'an answer')
    const [site, version] = [siteRow('a-site'), versionRow('v1', 'a-site')]
    assert.deepEqual(plain(await readAll()), [site, version, site, version])
  })

  promises('an error thrown in a write rolls it back and is rethrown unchanged', async (open) => {
    const store = await open()
    await store.write('durable', {}, (tx) => tx.sites.insert(siteRow('before', { title: 'as it was' })))
    const thrown = [new Error('an error'), new TypeError('another'), 'no error at all', undefined]
    for (const reason of thrown) {
      const outcome = await store
        .write('durable', {}, async (tx) => {
          await tx.sites.update('before', { title: 'changed' })
          await tx.sites.insert(siteRow('during'))
          await tx.blobs.addReferences('during', [blob(1)])
          await tx.blobs.discard(['an-object'])
          await tx.notifyChanged('before')
          throw reason
        })
        .then(
          () => assert.fail('a write that threw was answered'),
          (error: unknown) => error,
        )
      assert.equal(outcome, reason)
    }
    assert.equal((await store.read.sites.find('before'))?.title, 'as it was')
    assert.equal(await store.read.sites.find('during'), undefined)
    assert.deepEqual(await store.read.blobs.listDiscarded(0, 10), [])
  })

  promises('a failed write does not affect concurrent writes', async (open) => {
    const store = await open()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, number) =>
        store.write(number % 2 ? 'durable' : 'relaxed', {}, async (tx) => {
          await tx.sites.insert(siteRow(`site-${number}`))
          await turn()
          if (number % 3 === 0) throw new Error('this one fails')
        }),
      ),
    )
    for (const [number, { status }] of outcomes.entries()) {
      const kept = (await store.read.sites.find(`site-${number}`)) !== undefined
      assert.deepEqual({ status, kept }, number % 3 === 0 ? failed : done)
    }
  })

  promises(
    'writes of two stores about one site are serialized: values read in a write are still current when it commits',
    async (open) => {
      const stores = [await open(), await open()]
      await stores[0]!.write('durable', {}, (tx) => tx.sites.insert(siteRow('a-site', { updatedAt: 0 })))
      const addOne = async (tx: WriteTransaction) => {
        const { updatedAt } = (await tx.sites.find('a-site'))!
        await turn()
        await tx.sites.update('a-site', { updatedAt: updatedAt + 1 })
      }
      await Promise.all(
        Array.from({ length: 60 }, (_, number) => {
          const site = number % 3 === 0 ? ['another', 'a-site'] : 'a-site'
          return stores[number % 2]!.write('relaxed', { site }, addOne)
        }),
      )
      for (const store of stores) assert.equal((await store.read.sites.find('a-site'))?.updatedAt, 60)
    },
  )

  promises('a read does not wait for a write', async (open) => {
    const [one, other] = [await open(), await open()]
    const held = Promise.withResolvers<void>()
    const writing = one.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('a-site'))
      await held.promise
    })
    assert.equal(await one.read.sites.find('a-site'), undefined)
    assert.equal(await other.read.sites.find('a-site'), undefined)
    await Promise.all([one.check(), other.check()])
    held.resolve()
    await writing
  })

  promises('a write that waits for one about the same site does not block its process', async (open) => {
    const [one, other] = [await open(), await open()]
    const held = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const first = one.write('relaxed', { site: 'a-site' }, () => {
      started.resolve()
      return held.promise
    })
    await started.promise
    const second = other.write('relaxed', { site: 'a-site' }, (tx) => tx.sites.insert(siteRow('a-site')))
    try {
      for (let turns = 0; turns < 50; turns++) await turn()
      assert.equal(await other.read.sites.find('a-site'), undefined)
    } finally {
      held.resolve()
    }
    await Promise.all([first, second])
    assert.equal((await one.read.sites.find('a-site'))?.slug, 'a-site')
  })

  promises('a store completes its pending writes when it closes', async (open) => {
    const closing = await open()
    const writes = Array.from({ length: 5 }, (_, number) =>
      closing.write('durable', {}, async (tx) => {
        await turn()
        await tx.sites.insert(siteRow(`site-${number}`))
      }),
    )
    await closing[Symbol.asyncDispose]()
    await Promise.all(writes)
    const { read } = await open()
    for (let number = 0; number < 5; number++) assert.ok(await read.sites.find(`site-${number}`))
  })
}

function storeUniqueRules(promises: Promises): void {
  for (const [rule, write] of Object.entries(breakingUniqueRules)) {
    promises(`unique: ${rule}`, async (open) => {
      const store = await open()
      await store.write('durable', {}, (tx) => write(tx, 'first'))
      const twice = store.write('durable', {}, async (tx) => {
        await tx.sites.insert(siteRow('beside'))
        await write(tx, 'second')
      })
      await assert.rejects(twice)
      assert.equal(await store.read.sites.find('beside'), undefined, 'the rest of that write is undone')
      await store.write('durable', {}, (tx) => tx.sites.insert(siteRow('beside')))
    })
  }
}

const failed = { status: 'rejected', kept: false }
const done = { status: 'fulfilled', kept: true }

/** Each may run once; only columns that may differ depend on `time`. */
const breakingUniqueRules: Record<string, (tx: WriteTransaction, time: string) => Promise<void>> = {
  'an address has one account': (tx, time) =>
    tx.rows.insert('accounts', accountRow(time, { email: 'a@b.test' })),
  'a key belongs to one account': (tx, time) =>
    tx.rows.insert('accounts', accountRow(time, { keyHash: 'a hash' })),
  'a named key belongs to one account': (tx, time) =>
    tx.rows.insert('named_keys', keyRow('a hash', { accountId: time, name: time })),
  'a name of a key is used once': (tx, time) =>
    tx.rows.insert('named_keys', keyRow(time, { name: 'a name' })),
  'a slug is given out once': (tx, time) => tx.sites.insert(siteRow('a-site', { title: time })),
  'a version id is given out once': (tx, time) => tx.rows.insert('versions', versionRow('v1', time)),
  'an account has a domain once': (tx, time) => tx.domains.insert(domainRow('a.test', { slug: time })),
  'a domain is active for one account': (tx, time) =>
    tx.domains.insert(domainRow('a.test', { accountId: time, status: 'active' })),
}

function storeProcesses(promises: Promises): void {
  promises(
    'processes lose no updates, and hold a lease with unique fencing numbers',
    async (open, { address }) => {
      const processes = await TaskProcesses.shared()
      const store = await open()
      await store.write('durable', {}, (tx) => tx.sites.insert(siteRow('a-site', { updatedAt: 0 })))
      await processes.run('increment', address)
      assert.equal((await store.read.sites.find('a-site'))?.updatedAt, TIMES * PROCESSES)
      const fences = await processes.run<number[]>('lease', address)
      assert.deepEqual(sorted(fences.flat()), upTo(TIMES * PROCESSES))
      for (const mine of fences) assert.deepEqual(mine, sorted(mine))
    },
  )
}

function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((one, other) => one - other)
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}
