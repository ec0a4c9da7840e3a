import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createObjectName, objectCreatedAt, objectHashPrefix } from '../../server/blobs/blobs.ts'
import { sha256 } from '../api/content.ts'

test('the name of an object tells the millisecond of its creation, until the year 2100', () => {
  for (const now of [0, 1, Date.UTC(2026, 0, 1), Date.UTC(2059, 3, 26), Date.UTC(2100, 0, 1)])
    assert.equal(objectCreatedAt(createObjectName(now)), now)
})

test('names of objects that are created at the same time differ, and are spread over all prefixes', () => {
  const names = Array.from({ length: 10_000 }, () => createObjectName(1))
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.every((name) => /^[0-9a-z-]{1,40}$/.test(name)))
  assert.equal(new Set(names.map((name) => name.slice(0, 2))).size, 256)
})

test('the name of an object may contain the beginning of its hash, after the same number of characters', () => {
  const hash = sha256(Buffer.from('a'))
  for (const now of [0, Date.UTC(2026, 0, 1)]) {
    assert.equal(objectHashPrefix(createObjectName(now, { hash })), hash.slice(0, 12))
    assert.equal(
      objectHashPrefix(`${createObjectName(now, { hash, prefix: 'ab' })}.12345678`),
      hash.slice(0, 12),
    )
    assert.equal(objectCreatedAt(createObjectName(now, { hash })), now)
    assert.equal(objectHashPrefix(createObjectName(now)), undefined)
  }
  assert.equal(objectHashPrefix(hash), undefined)
})

test('names of other services are not taken for names of objects', () => {
  const own = createObjectName(1, { hash: sha256(Buffer.from('a')) })
  assert.equal(objectCreatedAt(`${own}.12345678`), 1)
  const others = [
    sha256(Buffer.from('a')),
    `b/${own}`,
    `${own}/b`,
    `${own}.tar.gz`,
    own.slice(0, -1),
    'a.sql',
    '',
  ]
  for (const name of others) assert.equal(objectCreatedAt(name), undefined, name)
})
