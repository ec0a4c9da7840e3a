import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { Random } from '../support/random.ts'

// For power-cut: `node surviving-blocks.ts DISK PERCENT SEED < CACHE` writes a random PERCENT of the unflushed blocks to
// the disk, and of a quarter of these only some sectors. CACHE has the newest bytes of each block at its offset on the disk, and zeros for blocks never written.

const BLOCK = 4096
/** What a disk writes as a whole. */
const SECTOR = 512
const BLOCKS_AT_ONCE = 1024

const [disk, percent, seed] = process.argv.slice(2) as [string, string, string]
const random = new Random(Number(seed))
const target = openSync(disk, 'r+')
const cached = Buffer.alloc(BLOCK * BLOCKS_AT_ONCE)
const flushed = Buffer.alloc(BLOCK * BLOCKS_AT_ONCE)
const zeros = Buffer.alloc(cached.length)
const { size } = fstatSync(target)
let unflushed = 0
let survived = 0
let torn = 0

for (let at = 0; at < size; at += cached.length) {
  const length = readSync(0, cached, 0, cached.length, at)
  if (length === 0) break
  if (hasOnlyZeros(cached, 0, length)) continue
  readSync(target, flushed, 0, length, at)
  for (let block = 0; block < length; block += BLOCK) keepByChance(block, at)
}
closeSync(target)
console.log(`${survived} of ${unflushed} unflushed blocks survived, ${torn} of them in part;`)

function keepByChance(block: number, at: number): void {
  const bytes = cached.subarray(block, block + BLOCK)
  if (hasOnlyZeros(cached, block, BLOCK) || bytes.equals(flushed.subarray(block, block + BLOCK))) return
  unflushed++
  if (!random.chance(Number(percent) / 100)) return
  survived++
  const isTorn = random.chance(1 / 4)
  if (isTorn) torn++
  const step = isTorn ? SECTOR : BLOCK
  for (let from = 0; from < BLOCK; from += step)
    if (!isTorn || random.chance(1 / 2)) writeSync(target, bytes, from, step, at + block + from)
}

/** Compares whole ranges: nearly all of a disk is zeros. */
function hasOnlyZeros(buffer: Buffer, from: number, length: number): boolean {
  return buffer.compare(zeros, 0, length, from, from + length) === 0
}
