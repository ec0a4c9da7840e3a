import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { archiveKind } from '../../server/publish/archive/archive.ts'

describe('the kind of an archive', () => {
  for (const [type, kind] of [
    ['application/zip', 'zip'],
    ['application/x-zip-compressed', 'zip'],
    ['application/x-tar', 'tar'],
    ['application/x-gtar', 'tar'],
    ['application/gzip', 'tar.gz'],
    ['application/x-gzip', 'tar.gz'],
    ['Application/ZIP ; charset=binary', 'zip'],
    ['application/json', undefined],
    ['text/html; charset=utf-8', 'html'],
    ['text/plain; application/zip', undefined],
    ['constructor', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    test(`${type} is ${kind}`, () => assert.equal(archiveKind(type), kind))
  }
})
