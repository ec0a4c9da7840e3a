import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareResult, shareRunning, shareSuccess } from '../../server/lib/share-result.ts'

test('calls within the lifetime have the result or the error of one run', async () => {
  let now = 0
  let runs = 0
  const run = async () => {
    if (++runs === 2) throw new Error('second')
    return runs
  }
  const call = shareResult(run, { lifetimeMs: 1000, clock: () => now })
  assert.deepEqual(await Promise.all([call(), call()]), [1, 1])
  now = 999
  assert.equal(await call(), 1)
  now = 1000
  await assert.rejects(call(), /second/)
  await assert.rejects(call(), /second/)
  now = 2000
  assert.equal(await call(), 3)
})

for (const [share, expected] of [
  [shareRunning, ['fails', 'a 2', 'a 3']],
  [shareSuccess, ['fails', 'a 2', 'a 2']],
] as const)
  test(`calls with one argument share a run, and no later one has its failure: ${share.name}`, async () => {
    let runs = 0
    const call = share(async (name: string) => {
      if (++runs === 1) throw new Error('fails')
      return `${name} ${runs}`
    })
    const found: string[] = []
    for (let times = 0; times < 3; times++) {
      const [one, same] = [call('a'), call('a')]
      assert.equal(one, same)
      found.push(await one.catch(({ message }: Error) => message))
    }
    assert.deepEqual([...found, await call('b')], [...expected, `b ${runs}`])
  })
