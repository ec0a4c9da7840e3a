import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turns } from '../../server/lib/turns.ts'

test('work that is refused because one of its keys is not free holds none of the others', async () => {
  const turns = new Turns()
  const held = Promise.withResolvers<void>()
  const run = (keys: string[], timeoutMs = 2 ** 30) => turns.run(keys, { timeoutMs }, async () => keys)
  const holder = turns.run(['a'], { timeoutMs: 0 }, () => held.promise)
  const before = run(['c', 'a'])
  const refused = assert.rejects(run(['a', 'b', 'c'], 0), { code: 'UNAVAILABLE' })
  const behind = run(['b'])
  await refused
  assert.deepEqual([await behind, await run(['b'])], [['b'], ['b']])
  for (const key of ['a', 'c']) await assert.rejects(run([key], 0), { code: 'UNAVAILABLE' })
  held.resolve()
  await holder
  assert.deepEqual(await before, ['c', 'a'])
  assert.deepEqual(await run(['a', 'b', 'c']), ['a', 'b', 'c'])
})
