import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { requires } from '../test/tools/part.ts'
import { createRunFolder } from './run-folder.ts'

test(
  'a run deletes its folder also when a test that was ended has a disk in it',
  requires('small-disk'),
  () => {
    const folder = createRunFolder()
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', 'slipway-test', disk])
    folder[Symbol.dispose]()
    assert.equal(existsSync(folder.path), false)
  },
)
