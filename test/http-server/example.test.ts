import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { memoryFolder } from '../tools/memory-folder.ts'

const PACKAGE = join(import.meta.dirname, '../../packages/http-server')

test('the example in its README serves requests, and ends when it is asked to', async () => {
  const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(PACKAGE, 'README.md'), 'utf8')) ?? []
  await using folder = await memoryFolder()
  const file = join(folder.path, 'example.mts')
  writeFileSync(
    file,
    code.replaceAll(/from '\.(\/[^']+)'/g, (_, path) => `from "${pathToFileURL(PACKAGE)}${path}"`),
  )
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const url = `${line}`.trim()
  const found = await fetch(url)
  assert.deepEqual([found.status, await found.text()], [200, 'hello\n'])
  assert.equal((await fetch(url, { method: 'PUT', body: 'a' })).status, 405)
  child.kill('SIGTERM')
  const [rest, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.deepEqual([rest, exitCode], ['', 0])
})
