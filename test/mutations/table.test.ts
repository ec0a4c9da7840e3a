import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MUTATIONS } from './table.ts'

// That the tests find each mutation is what `npm run mutations` verifies; it takes minutes.

const root = join(import.meta.dirname, '..', '..')

for (const { breaks, file, find, replace, tests } of MUTATIONS) {
  test(`the mutation that ${breaks} applies to exactly one place`, () => {
    assert.equal(readFileSync(join(root, file), 'utf8').split(find).length - 1, 1, `${file}: ${find}`)
    assert.notEqual(find, replace)
    assert.deepEqual(
      tests.filter((path) => !existsSync(join(root, path))),
      [],
    )
  })
}
