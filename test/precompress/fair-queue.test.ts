import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from '../../server/publish/precompress/fair-queue.ts'

/** Serves the queue as a worker that encodes files of these sizes; returns the sites in the order of their turns. */
function serve(queue: FairQueue, files: Record<string, number[]>): string[] {
  const order: string[] = []
  for (let turn = queue.take(); turn; turn = queue.take()) {
    const left = files[turn.item]!
    const size = left[0] ?? 0
    // Large files are announced before they are encoded.
    const cost = size > Math.max(10, turn.expectedCost) ? 0 : size
    if (cost > 0) order.push(`${turn.flow} ${left.shift()}`)
    queue.finish(turn, { cost, nextCost: left[0] })
  }
  return order
}

const queueOf = (items: [flow: string, item: string][], limits = {}) => {
  const queue = new FairQueue({ maxItems: 100, maxItemsOfFlow: 10, ...limits })
  for (const [flow, item] of items) queue.add(flow, item)
  return queue
}

test('sites take turns by their use, and a large file waits for small ones of other sites', () => {
  const queue = queueOf([
    ['large', 'v1'],
    ['many', 'v2'],
    ['few', 'v3'],
  ])
  const files = { v1: [100], v2: Array(30).fill(5), v3: [3, 3] }
  const order = serve(queue, files)
  assert.ok(order.indexOf('few 3') < 3 && order.lastIndexOf('few 3') < 4, `${order}`)
  const large = order.indexOf('large 100')
  assert.ok(order.slice(0, large).filter((one) => one === 'many 5').length >= 15, `${order}`)
  assert.equal(order.length, 33)
})

test('a returning site does not overtake queued ones, and idle time earns no priority', () => {
  const queue = queueOf([['patient', 'v1']])
  const files: Record<string, number[]> = { v1: [10, 10] }
  const order: string[] = []
  for (let count = 0; count < 5; count++) {
    queue.add('eager', `again ${count}`)
    files[`again ${count}`] = [9]
    const turn = queue.take()!
    order.push(turn.flow)
    const cost = files[turn.item]!.shift()!
    queue.finish(turn, { cost, nextCost: files[turn.item]![0] })
  }
  assert.equal(order.filter((flow) => flow === 'patient').length, 2, `${order}`)
})

test('when nothing waits, what sites have used before counts no more', () => {
  const queue = queueOf([['large', 'v1']])
  assert.deepEqual(serve(queue, { v1: [100] }), ['large 100'])
  queue.add('large', 'v2')
  queue.add('small', 'v3')
  assert.deepEqual(serve(queue, { v2: [1], v3: [1] }), ['large 1', 'small 1'])
})

test('a site has at most ten queued versions, the newest, and leaves capacity for others', () => {
  const queue = queueOf([], { maxItems: 12 })
  for (let version = 0; version < 50; version++) queue.add('greedy', `g${version}`)
  queue.add('greedy', 'g49')
  for (let version = 0; version < 5; version++) queue.add('modest', `m${version}`)
  assert.equal(queue.size, 12)
  const taken: string[] = []
  for (let turn = queue.take(); turn; turn = queue.take()) {
    taken.push(turn.item)
    queue.finish(turn, { cost: 1 })
  }
  const expected = ['m0', 'm1', ...Array.from({ length: 10 }, (_, n) => `g${n + 40}`)].toSorted()
  assert.deepEqual(taken.toSorted(), expected)
  assert.ok(taken.indexOf('m1') < 5)
})
