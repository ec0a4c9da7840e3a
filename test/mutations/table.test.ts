import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findEdit } from './edit.ts'
import { locate } from './locate.ts'
import { MUTATIONS } from './table.ts'

// That the tests find each mutation is what `npm run mutations` verifies; it takes minutes.

const root = join(import.meta.dirname, '..', '..')

test('each mutation of the table applies to one place, and names tests that exist', () => {
  const broken = MUTATIONS.flatMap((mutation) => {
    const missing = mutation.tests.filter((path) => !existsSync(join(root, path)))
    const problems = [...missing.map((path) => `there is no ${path}`), ...describeEdit(mutation)]
    if (mutation.code === mutation.replace) problems.push('it changes nothing')
    return problems.map((problem) => `${mutation.breaks}: ${problem}`)
  })
  assert.deepEqual(broken, [], 'if the code keeps its promise, give the row the code as it is now')
})

test('the code of a mutation is found whatever its format, in its function only', () => {
  const text = `
    const limit = 2
    export class Queue {
      #add(item) { return this.items.length <
        limit && item }
      remove() { return limit }
    }
    function remove() { return limit }`
  const find = (within: string, code: string) => {
    const { start, end } = locate({ path: 'queue.ts', text }, within, code)
    return text.slice(start, end).replaceAll(/\s+/g, ' ')
  }
  assert.equal(find('Queue.#add', 'this.items.length < limit'), 'this.items.length < limit')
  assert.equal(find('Queue.remove', 'limit'), 'limit')
  assert.equal(find('module', 'limit = 2'), 'limit = 2')
  assert.throws(() => find('module', 'return limit'), /has this 2 times/)
  assert.throws(() => find('Queue.add', 'limit'), /has this 0 times/)
})

function describeEdit(mutation: (typeof MUTATIONS)[number]): string[] {
  try {
    findEdit(mutation)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}
