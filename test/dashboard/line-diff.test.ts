import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffLines } from '../../dashboard/site/line-diff.ts'
import { Random } from '../support/random.ts'

const pause = async () => undefined
const random = new Random(Number(process.env.SEED ?? 7))

test('two texts are compared with the fewest added and removed lines, and both can be read from the result', async () => {
  for (let round = 0; round < 300; round++) {
    const [old, now] = [randomLines(), randomLines()]
    const lines = await diffLines(toText(old), toText(now), pause)
    const without = (kind: string) => lines.filter((line) => line.kind !== kind).map(({ text }) => text)
    assert.deepEqual([without('added'), without('removed')], [old, now])
    assert.equal(lines.filter(({ kind }) => kind === 'same').length, longestCommon(old, now))
  }
})

test('texts that differ in very many lines are removed and added between what they share, in slices', async () => {
  const middle = (letter: string) => Array.from({ length: 5_000 }, (_, at) => `${letter}${at}`)
  const [old, now] = [
    ['first', ...middle('a'), 'last'],
    ['first', ...middle('b'), 'last'],
  ]
  let pauses = 0
  const lines = await diffLines(toText(old), toText(now), async () => void pauses++)
  assert.equal(lines.filter(({ kind }) => kind === 'same').length, 2)
  assert.equal(lines.length, 10_002)
  assert.ok(pauses > 500)
})

function toText(lines: string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

function randomLines(): string[] {
  return Array.from({ length: random.below(13) }, () => random.pick(['a', 'b', 'c']))
}

/** The length of the longest common subsequence. */
function longestCommon(one: string[], other: string[]): number {
  const rows = Array.from({ length: one.length + 1 }, () => new Array<number>(other.length + 1).fill(0))
  for (const [x, line] of one.entries())
    for (const [y, candidate] of other.entries())
      rows[x + 1]![y + 1] =
        line === candidate ? rows[x]![y]! + 1 : Math.max(rows[x]![y + 1]!, rows[x + 1]![y]!)
  return rows.at(-1)!.at(-1)!
}
