import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryBudget, SecondChanceCache } from '../../packages/http-server/memory/second-chance-cache.ts'
import { Random } from '../support/random.ts'

describe('a second-chance cache', () => {
  test('stays within its bytes and evicts entries that were not used since their last inspection', () => {
    const budget = new MemoryBudget(10_000)
    const kept = new SecondChanceCache<number>(budget)
    kept.set('favorite', 0, 600)
    for (let number = 1; number <= 100; number++) {
      kept.set(`${number}`, number, 600)
      assert.equal(kept.get('favorite'), 0)
      assert.ok(budget.usedBytes <= 10_000)
    }
    assert.equal(kept.get('1'), undefined)
    assert.equal(kept.get('100'), 100)
  })

  test('shares a budget with others, and evicts when it holds most', () => {
    const budget = new MemoryBudget(10_000)
    const [large, small] = [new SecondChanceCache<number>(budget), new SecondChanceCache<number>(budget)]
    for (let number = 0; number < 9; number++) large.set(`${number}`, number, 600)
    for (let number = 0; number < 4; number++) small.set(`${number}`, number, 600)
    assert.equal(small.usedBytes, 4000)
    assert.equal(large.usedBytes, 6000)
    small.delete('0')
    small.delete('0')
    assert.equal(budget.usedBytes, 9000)
  })

  test('inspects a bounded number of used entries for a new value', () => {
    const kept = new SecondChanceCache<number>(new MemoryBudget(500 * 10_000))
    const names = Array.from({ length: 10_000 }, (_, number) => `${number}`)
    for (const name of names) kept.set(name, 0, 100)
    for (const name of names) kept.get(name)
    kept.set('new', 0, 100)
    const used = names.filter((name) => kept.find(name)?.used)
    assert.ok(used.length > 5000, `${used.length} of 10,000 entries are as used as they were`)
    assert.equal(names.filter((name) => !kept.find(name)).length, 1)
  })

  test('evicts in the order of the last inspections, whatever was added, replaced and deleted', () => {
    const random = new Random(58)
    const kept = new SecondChanceCache<number>(new MemoryBudget(500 * 50))
    let expected: { name: string; used: boolean }[] = []
    const remove = (name: string) => {
      expected = expected.filter((one) => one.name !== name)
    }
    for (let step = 0; step < 20_000; step++) {
      const name = `${random.below(100)}`
      const known = expected.find((one) => one.name === name)
      const choice = random.next()
      if (choice < 0.4) {
        if (kept.get(name) !== undefined) known!.used = true
      } else if (choice < 0.5) {
        kept.delete(name)
        remove(name)
      } else if (choice < 0.6) kept.replace(name, step, 100)
      else {
        kept.set(name, step, 100)
        remove(name)
        while (expected.length === 50) {
          const oldest = expected.shift()!
          if (oldest.used) expected.push({ ...oldest, used: false })
        }
        expected.push({ name, used: false })
      }
      assert.deepEqual(
        expected.filter((one) => kept.find(one.name) === undefined),
        [],
      )
      assert.equal(kept.usedBytes, 500 * expected.length)
    }
  })

  test('does not store values larger than the cache', () => {
    const budget = new MemoryBudget(1000)
    const kept = new SecondChanceCache<string>(budget)
    kept.set('a', 'a', 100)
    kept.set('b', 'b', 5000)
    assert.deepEqual([kept.get('a'), kept.get('b')], ['a', undefined])
    kept.set('a', 'A', 50)
    assert.deepEqual([kept.get('a'), kept.usedBytes], ['A', 450])
  })
})
