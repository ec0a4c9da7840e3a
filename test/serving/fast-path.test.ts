import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { numbers } from '../support/random.ts'
import { compareResponses } from './fast-path-comparison.ts'
import { openServicePair } from './fast-path-sites.ts'

// Long form: `npm run fast-path -- --requests 1000000 --seed N`.

test('the HTTP/1 fast path responds as Node’s parser does to random requests, and only with published content', async (t) => {
  const pick = numbers(t)
  await using services = await openServicePair()
  const { faults, requests, statuses } = await compareResponses(services, 1_500, pick)
  assert.deepEqual(faults, [])
  assert.ok(requests >= 1_500)
  for (const status of [200, 206, 301, 304, 400, 401, 404, 405, 412, 416]) {
    assert.ok(statuses.has(status), `no response was ${status}`)
  }
  for (const { log } of [services.fast, services.plain]) {
    const errors = log.filter(({ level }) => level === 'error')
    assert.deepEqual(errors, [])
  }
})

test('a repeated visit takes fewer than 100 calls', async () => {
  const script = join(import.meta.dirname, '../../scripts/trace.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [script, 'warm-visit'])
  const calls = Number(/^warm-visit .* (\d+)$/m.exec(stdout)?.[1])
  assert.ok(calls > 0 && calls < 100, stdout)
})
