import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIdioms } from './wording.ts'

const REFUSED: [text: string, sentence: RegExp][] = [
  ['Whoever runs this service', /^docs\/any\.md:1 "Whoever": write the role/],
  ['one\ntwo\nIt is gone.', /^docs\/any\.md:3 "is gone"/],
  ['/**\n * The site is\n * gone.\n */', /^docs\/any\.md:2 "is \* gone"/],
  ['// Deleted for\n  // good.', /"for \/\/ good": write permanently/],
  ['<p>\n  It goes\n  on at 01:00\n</p>', /"goes on": write continue/],
  ['The server looks at it', /"looks"/],
  ['Mail me a code', /"Mail me a code": write email/],
  ['Only the own sites', /"the own": write its own/],
  ['The behaviours differ', /"behaviours": write the spelling/],
  ['The page is recognised', /"recognised": write the spelling/],
]

for (const [text, sentence] of REFUSED) {
  test(`lint refuses ${JSON.stringify(text)}`, () => {
    const [found = '', ...others] = findIdioms('docs/any.md', text)
    assert.match(found, sentence)
    assert.deepEqual(others, [])
  })
}

test('lint lets plain words and names pass', () => {
  const text =
    'The server looks up the record. It continues, as promised. runAtOnce(UPLOADS_AT_ONCE); mailedCode.send()'
  assert.deepEqual(findIdioms('docs/any.md', text), [])
})
