import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentBytes, PIECE_BYTES, tableBytes } from '../../server/blobs/s3/pieces.ts'

test('the size of content is known from that of its object, also around whole numbers of pieces', () => {
  for (const pieces of [0, 1, 2, 3, 4, 1000, 32_767, 32_768, 32_769, 40_000])
    for (const difference of [-33, -32, -1, 0, 1, 32, 33]) {
      const size = pieces * PIECE_BYTES + difference
      if (size >= 0) assert.equal(contentBytes(size + tableBytes(size)), size, `${pieces} and ${difference}`)
    }
})
