import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { sharedCeph } from '../tools/ceph.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'

const PACKAGE = join(import.meta.dirname, '../../packages/s3-client')

test(
  'the example in its README stores an object, reads, lists and removes it',
  requires('ceph'),
  async () => {
    const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(PACKAGE, 'README.md'), 'utf8')) ?? []
    const ceph = await sharedCeph()
    await using folder = await memoryFolder()
    const file = join(folder.path, 'example.mts')
    const program = code
      .replaceAll(/from '\.(\/[^']+)'/g, (_, path) => `from "${pathToFileURL(PACKAGE)}${path}"`)
      .replace(/'s3:[^']*'/, `'${ceph.storageUrl()}'`)
      .replace("'key'", `'${process.env.AWS_ACCESS_KEY_ID}'`)
      .replace("'secret'", `'${process.env.AWS_SECRET_ACCESS_KEY}'`)
    writeFileSync(file, program)
    const { stdout } = await promisify(execFile)(process.execPath, [file])
    assert.equal(stdout, "[ 'hello.txt' ] hello\n\n")
  },
)
