// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the cases are source text
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSlowExpressions } from './regular-expressions.ts'

const REFUSED: [source: string, problem: RegExp][] = [
  ['text.split(/\\s*;\\s*/)', /quadratic time for repeated " "/],
  ['/charset\\s*=\\s*["\']?\\s*(.)/', /quadratic/],
  ['/^(a+)+$/', /exponential/],
  ["new RegExp('a+a+b')", /quadratic/],
  ["const A = 'a+'\nnew RegExp(`${A}${A}b`, 'i')", /quadratic/],
  ['new RegExp(given)', /cannot see/],
  ["text('hash', { pattern: '^(x*)*$' })", /exponential/],
]

for (const [source, problem] of REFUSED) {
  test(`lint refuses ${source}`, () => {
    const [sentence = '', ...others] = findSlowExpressions('server/any.ts', source)
    assert.match(sentence, /^server\/any\.ts:\d/)
    assert.match(sentence, problem)
    assert.deepEqual(others, [])
  })
}

test('lint lets expressions pass that read each character once', () => {
  const source = "/^[a-z]+$/; /a+b/y; new RegExp(`^${'x'}+$`); text.replace(/[;,']/g, '')"
  assert.deepEqual(findSlowExpressions('server/any.ts', source), [])
})
