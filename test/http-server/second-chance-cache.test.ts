import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryBudget, SecondChanceCache } from '../../packages/http-server/memory/second-chance-cache.ts'

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
