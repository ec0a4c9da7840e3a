import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

const WORKERS = join(import.meta.dirname, 'acknowledging-workers.ts')

test('a change is acknowledged once the other workers of the machine have refreshed their caches', async () => {
  const workers = spawn(process.execPath, [WORKERS], { stdio: ['ignore', 'pipe', 'inherit'] })
  assert.equal(await text(workers.stdout), 'refreshed a-site\nacknowledged\n')
})
