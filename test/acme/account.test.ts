import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { SecretBox } from '../../server/lib/secret-box.ts'
import type { Store } from '../../server/store/store.ts'
import { FakeCa } from './ca-double.ts'
import { obtain, type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'
import { NullSolver } from './unseen-proofs.ts'

const NAMES = ['www.example.test']

let ca: FakeCa
let service: ServiceAtCa

beforeEach(async () => {
  ca = await FakeCa.start()
  service = await serviceAtCa(ca)
})

afterEach(async () => {
  await service[Symbol.asyncDispose]()
  await ca[Symbol.asyncDispose]()
})

describe('nonces', () => {
  test('are asked for once, and then are those of the answers', async () => {
    await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01') })
    assert.equal(ca.count('nonce'), 1)
  })

  test('are kept up to twenty', async () => {
    const orderAll = () => Promise.all(Array.from({ length: 50 }, () => service.acme.newOrder(NAMES)))
    await orderAll()
    const before = ca.count('nonce')
    await orderAll()
    assert.equal(ca.count('nonce') - before, 30)
  })

  test('that the CA has forgotten cost one request, not one for each', async () => {
    await Promise.all(Array.from({ length: 8 }, () => service.acme.newOrder(NAMES)))
    ca.forgetNonces()
    const before = ca.count('new-order')
    await service.acme.newOrder(NAMES)
    assert.equal(ca.count('new-order') - before, 2)
  })
})

describe('the account', () => {
  test('is made once, with the address for letters and the terms agreed to', async () => {
    await service.again({ email: 'ops@example.test' }).newOrder(NAMES)
    await service.again().newOrder(NAMES)
    const [made, ...more] = ca.asked.filter(({ place }) => place === 'new-account')
    assert.deepEqual(made?.payload, { termsOfServiceAgreed: true, contact: ['mailto:ops@example.test'] })
    assert.deepEqual(more, [])
  })

  test('is one for all processes that begin at the same time', async () => {
    await Promise.all(Array.from({ length: 8 }, () => service.again().newOrder(NAMES)))
    assert.equal(ca.accounts.size, 1)
  })

  test('is that of the process which was first when two have found none', async () => {
    const { store } = service
    const late = { ...store.read.acme, account: async () => undefined }
    const write = store.write.bind(store)
    const behind = { read: { ...store.read, acme: late }, write } as unknown as Store
    await service.acme.newOrder(NAMES)
    await service.again({ store: behind }).newOrder(NAMES)
    assert.equal(ca.accounts.size, 1)
  })

  test('is the same when the process ended before it heard of it', async () => {
    ca.instead = async ({ place }, ordinary) => {
      if (place !== 'new-account') return undefined
      await ordinary()
      return (request) => request.socket.destroy()
    }
    await assert.rejects(service.acme.newOrder(NAMES), { kind: 'unreachable' })
    ca.instead = () => undefined
    await service.again().newOrder(NAMES)
    assert.equal(ca.accounts.size, 1)
  })

  test('has its key kept before the CA hears of it, sealed', async () => {
    let row: { key: string; url: string | null } | undefined
    ca.instead = async ({ place }) => {
      if (place === 'new-account') row = await service.store.read.acme.account(ca.directory)
      return undefined
    }
    await service.acme.newOrder(NAMES)
    assert.equal(row?.url, null)
    assert.match(
      new SecretBox('secret').decrypt(row!.key, `acme account ${ca.directory}`)!,
      /BEGIN PRIVATE KEY/,
    )
  })

  test('that the CA has forgotten is made again, with the same key', async () => {
    await service.acme.newOrder(NAMES)
    const [key] = ca.accounts.values()
    ca.accounts.clear()
    await service.acme.newOrder(NAMES)
    assert.deepEqual([...ca.accounts.values()], [key])
    ca.accounts.clear()
    await service.again().newOrder(NAMES)
    assert.deepEqual([...ca.accounts.values()], [key])
  })

  test('is not made a second time when its key cannot be opened, and the setting is named', async () => {
    await service.acme.newOrder(NAMES)
    const stranger = service.again({ seal: new SecretBox('another secret') })
    await assert.rejects(stranger.newOrder(NAMES), { kind: 'rejected', message: /SLIPWAY_SECRET/ })
    assert.equal(ca.accounts.size, 1)
  })

  test('is opened again after the CA was away', async () => {
    ca.instead = ({ place }) => (place === 'new-account' ? { status: 503 } : undefined)
    await assert.rejects(service.acme.newOrder(NAMES), { kind: 'unreachable' })
    ca.instead = () => undefined
    await service.acme.newOrder(NAMES)
  })
})
