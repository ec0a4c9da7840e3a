import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

const SERVER = new URL('../../server/', import.meta.url)

/** Where each program is started, and a call that starts it. */
const PROGRAMS: Record<string, [module: string, call: string]> = {
  'a hook': [
    'lib/hook-process.ts',
    "runHook({ program: '/bin/true', environment: {}, input: '', timeoutMs: 60_000 })",
  ],
  'a browser': [
    'lib/chromium.ts',
    "Chromium.open({ chromium: '/bin/true', chromiumSandbox: 'on' }, new AbortController().signal)",
  ],
  'the compression': [
    'publish/precompress/precompressor.ts',
    'compressionProcess(1).call(Buffer.alloc(300))',
  ],
}

for (const [what, [module, call]] of Object.entries(PROGRAMS))
  test(`without a free file descriptor ${what} fails, and the process continues`, async () => {
    const name = /\w+/.exec(call.replace('new ', ''))![0]
    const code = `
      import { closeSync, openSync } from 'node:fs'
      import { ${name} } from ${JSON.stringify(new URL(module, SERVER).href)}
      process.stdout.write('')
      const taken = []
      try { for (;;) taken.push(openSync('/dev/null')) } catch {}
      const failed = await ${call}.catch((error) => error)
      for (const fd of taken) closeSync(fd)
      console.log(failed.message)`
    const args = ['-c', 'ulimit -n 64; exec "$0" --input-type=module --eval "$1"', process.execPath, code]
    const child = spawn('sh', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const [output, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'close')])
    assert.match(output, /EMFILE|no room/)
    assert.equal(exitCode, 0)
  })
