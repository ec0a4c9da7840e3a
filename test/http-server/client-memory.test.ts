import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'

test('a client cannot reserve more memory than its share, and others still can', () => {
  const memory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 400 })
  const first = memory.reserve('192.0.2.1')
  const second = memory.reserve('192.0.2.1')
  assert.equal(first.resize(300), true)
  assert.equal(second.resize(51), false)
  assert.equal(second.bytes, 0)
  assert.equal(second.resize(50), true)
  assert.equal(memory.reserve('192.0.2.2').resize(350), true)
  assert.equal(memory.heldBytes, 700)
})

test('bodies of an address that has used up its share do not close its other connections', () => {
  const memory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 400 })
  const evicted: string[] = []
  const connection = (name: string) => memory.reserve('192.0.2.1', () => void evicted.push(name))
  const [first, second, third] = ['first', 'second', 'third'].map(connection)
  assert.ok(first!.require(10))
  const body = memory.reserve('192.0.2.1')
  assert.equal(body.resize(350), false)
  assert.equal(body.resize(340), true)
  assert.ok(second!.require(40))
  assert.deepEqual(evicted, [])
  assert.ok(third!.require(11))
  assert.deepEqual(evicted, ['first'])
})

test('all clients together cannot reserve more memory than the total', () => {
  const memory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 400 })
  for (const address of ['192.0.2.1', '192.0.2.2']) assert.equal(memory.reserve(address).resize(350), true)
  assert.equal(memory.reserve('192.0.2.3').resize(176), false)
  assert.equal(memory.reserve('192.0.2.3').resize(175), true)
})

test('the addresses of an IPv6 /64 count as one client', () => {
  const memory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 400 })
  assert.equal(memory.reserve('2001:db8:0:1::1').resize(300), true)
  assert.equal(memory.reserve('2001:db8:0:1::2').resize(51), false)
  assert.equal(memory.reserve('2001:db8:0:2::1').resize(51), true)
})

test('released memory can be reserved again', () => {
  const memory = new ClientMemory({ totalBytes: 400, perNetworkBytes: 400 })
  const reservation = memory.reserve('192.0.2.1')
  assert.equal(reservation.resize(350), true)
  assert.equal(reservation.resize(100), true)
  assert.equal(memory.reserve('192.0.2.1').resize(250), true)
  reservation[Symbol.dispose]()
  reservation[Symbol.dispose]()
  assert.equal(memory.heldBytes, 250)
  assert.equal(reservation.resize(1), false)
  assert.equal(reservation.require(1), false)
})

test('required memory is taken from the oldest reservation of the same client', () => {
  const memory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 400 })
  const evicted: string[] = []
  const response = (address: string, name: string) => memory.reserve(address, () => void evicted.push(name))
  const [oldest, older, newest] = ['oldest', 'older', 'newest'].map((name) => response('192.0.2.1', name))
  const other = response('192.0.2.2', 'of another')
  for (const one of [other, oldest, older]) assert.ok(one!.require(200))
  // A reservation that was empty in between counts from its refill.
  oldest!.resize(0)
  oldest!.resize(200)
  assert.ok(newest!.require(200))
  assert.deepEqual(evicted, ['older'])
  assert.equal(older!.bytes, 0)
  assert.equal(newest!.require(401), false)
})

test('when all memory is used up, reservations of the largest client are evicted', () => {
  const memory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 400 })
  const evicted: string[] = []
  const hold = (address: string, bytes: number) =>
    memory.reserve(address, () => void evicted.push(address)).require(bytes)
  for (const [address, bytes] of [
    ['192.0.2.1', 300],
    ['192.0.2.2', 200],
    ['192.0.2.2', 200],
    ['192.0.2.3', 300],
  ] as const)
    assert.ok(hold(address, bytes))
  assert.ok(hold('192.0.2.4', 100))
  assert.equal(hold('192.0.2.5', 301), false, 'no other client holds more')
  assert.deepEqual(evicted, ['192.0.2.2'])
  assert.ok(memory.heldBytes <= 1000)
  assert.equal(memory.reserve('192.0.2.5').resize(201), false)
})
