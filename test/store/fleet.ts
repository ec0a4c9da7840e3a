import assert from 'node:assert/strict'
import {
  accountKeyContext,
  certificateKeyContext,
  orderKeyContext,
  reencryptKeys,
} from '../../server/certificates/stored-keys.ts'
import { SecretBox, UndecryptableError } from '../../server/lib/secret-box.ts'
import { emptyCertificate } from '../../server/store/tables/certificates.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'

/** Promises about the settings that all nodes have in common, and about the list of nodes. */
export function storeFleet(promises: Promises): void {
  promises('of two nodes that store a shared setting the first one decides', async (open) => {
    const [one, other] = [await open(), await open()]
    const settings = (fingerprint: string) => [
      { name: 'a', fingerprint },
      { name: 'b', fingerprint },
    ]
    await one.execute('durable', ({ sharedSettings }) => sharedSettings.addMissing(settings('1').slice(1)))
    await other.execute('durable', ({ sharedSettings }) => sharedSettings.addMissing(settings('2')))
    const read = async () => {
      const rows = await one.read.sharedSettings.list()
      return rows.map(({ name, fingerprint }) => name + fingerprint).sort()
    }
    assert.deepEqual(await read(), ['a2', 'b1'])
    await one.execute('durable', ({ rows }) => rows.put('shared_settings', settings('3')))
    assert.deepEqual(await read(), ['a3', 'b3'])
  })

  promises('a node has one report, until it leaves or was not seen for some time', async (open) => {
    const { execute, read } = await open()
    const report = (id: string, seenAt: number, numbers = {}) =>
      execute('relaxed', ({ rows }) =>
        rows.put('nodes', { id, host: 'h:1', release: '1.2', startedAt: 5, seenAt, numbers }),
      )
    await report('one', 10)
    await report('two', 11)
    await report('three', 12)
    await report('one', 13, { 's3.put.ok': 7 })
    const [first] = await read.nodes.list()
    assert.deepEqual(first, {
      id: 'one',
      host: 'h:1',
      release: '1.2',
      startedAt: 5,
      seenAt: 13,
      numbers: { 's3.put.ok': 7 },
    })
    await execute('relaxed', ({ rows }) => rows.remove('nodes', { id: 'two' }))
    await execute('relaxed', ({ rows }) => rows.remove('nodes', { id: 'three' }))
    await execute('relaxed', ({ rows }) => rows.remove('nodes', { id: 'three' }))
    assert.deepEqual(pluck(await read.nodes.list(), 'id'), ['one'])
  })

  promises('keys are encrypted again with a new secret, each once', async (open) => {
    const store = await open()
    const [old, both, current] = [
      new SecretBox('old secret'),
      new SecretBox(['new secret', 'old secret']),
      new SecretBox('new secret'),
    ]
    const names = Array.from({ length: 150 }, (_, number) => `${number}.example`)
    const directory = 'https://ca.example/directory'
    await store.write('durable', {}, async ({ acme, rows }) => {
      for (const name of names) {
        const key = old.encrypt(`key of ${name}`, certificateKeyContext(name))
        const orderKey = old.encrypt(`order of ${name}`, orderKeyContext(name))
        await rows.insert('certificates', { ...emptyCertificate(name), key, orderKey })
      }
      await rows.insert('certificates', emptyCertificate('without.example'))
      const key = old.encrypt('key of the account', accountKeyContext(directory))
      await acme.getOrCreateAccount({ directory, key, url: null, createdAt: 0 })
    })
    const reencrypt = (secretBox: SecretBox) => reencryptKeys({ store, secretBox, clock: () => 5 })
    await assert.rejects(reencrypt(current), UndecryptableError)
    assert.deepEqual(await reencrypt(both), { encrypted: 2 * names.length + 1, discarded: 0 })
    for (const name of names) {
      const { key, orderKey } = (await store.read.certificates.find(name))!
      assert.equal(current.decrypt(key!, certificateKeyContext(name)), `key of ${name}`)
      assert.equal(current.decrypt(orderKey!, orderKeyContext(name)), `order of ${name}`)
    }
    const account = (await store.read.acme.account(directory))!
    assert.equal(current.decrypt(account.key, accountKeyContext(directory)), 'key of the account')
    assert.deepEqual(await reencrypt(both), { encrypted: 0, discarded: 0 })
  })

  promises('keys of a lost secret are discarded on request, and what they belong to is due', async (open) => {
    const store = await open()
    const [lost, secretBox] = [new SecretBox('lost secret'), new SecretBox('new secret')]
    const directory = 'https://ca.example/directory'
    const seal = (name: string, box = lost) => ({
      ...emptyCertificate(name),
      chain: 'chain',
      key: box.encrypt('key', certificateKeyContext(name)),
      notAfter: 9,
    })
    const orderKey = lost.encrypt('order', orderKeyContext('order.example'))
    const certificates = [
      { ...seal('lost.example'), challengeType: 'http-01' as const, dueAt: 8 },
      { ...seal('unused.example'), unusedSince: 3 },
      { ...seal('order.example', secretBox), orderUrl: 'order/1', orderKey, dueAt: 8 },
      seal('intact.example', secretBox),
    ]
    await store.write('durable', {}, async (tx) => {
      for (const one of certificates) await tx.rows.insert('certificates', one)
      const key = lost.encrypt('key of the account', accountKeyContext(directory))
      await tx.acme.getOrCreateAccount({ directory, key, url: 'account/1', createdAt: 0 })
    })
    const options = { store, secretBox, clock: () => 5, discardsLostKeys: true }
    assert.deepEqual(await reencryptKeys(options), { encrypted: 0, discarded: 4 })
    const found = await Promise.all(certificates.map(({ name }) => store.read.certificates.find(name)))
    assert.deepEqual(found, [
      { ...emptyCertificate('lost.example'), challengeType: 'http-01', dueAt: 5 },
      { ...emptyCertificate('unused.example'), unusedSince: 3 },
      { ...certificates[2], orderUrl: null, orderKey: null, dueAt: 5 },
      certificates[3],
    ])
    const account = (await store.read.acme.account(directory))!
    assert.equal(account.url, null)
    assert.notEqual(secretBox.decrypt(account.key, accountKeyContext(directory)), undefined)
    assert.deepEqual(await reencryptKeys(options), { encrypted: 0, discarded: 0 })
  })
}
