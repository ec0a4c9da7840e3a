import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toFieldText, withLineEnds } from '../../dashboard/site/line-ends.ts'

test('a text that is edited in a field keeps the line ends of each line that is not changed', () => {
  for (const [original, change, expected] of [
    ['one\ntwo\r\nthree\n', ['two', '2'], 'one\n2\r\nthree\n'],
    ['one\r\ntwo\r\n', ['two', '2\n3'], 'one\r\n2\r\n3\r\n'],
    ['one\rtwo\rthree', ['two', '2'], 'one\r2\rthree'],
    ['one\r\ntwo\nthree\r\n', ['two\n', ''], 'one\r\nthree\r\n'],
    ['one', ['one', 'one\ntwo'], 'one\ntwo'],
    ['one\r\n', ['one\n', ''], ''],
    ['a\na\r\na\n', ['a\n', 'a\na\n'], 'a\na\r\na\na\n'],
  ] as const) {
    assert.equal(withLineEnds(toFieldText(original), original), original)
    assert.equal(
      withLineEnds(toFieldText(original).replace(...(change as [string, string])), original),
      expected,
    )
  }
})
