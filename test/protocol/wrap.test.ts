import assert from 'node:assert/strict'
import { it } from 'node:test'
import { wrapLine, wrapText } from '../../protocol/wrap.ts'

const cases: [sentence: string, line: string, width: number, lines: string[]][] = [
  ['stays as it is where it fits', 'one two', 7, ['one two']],
  ['breaks at a space', 'one two three', 8, ['one two', 'three']],
  ['keeps its indent', '  one two', 6, ['  one', '  two']],
  [
    'keeps a word that is longer than the line',
    'a https://example.com/x b',
    8,
    ['a', 'https://example.com/x', 'b'],
  ],
  [
    'continues in its last column',
    '-a  --all  include every file of the folder',
    40,
    ['-a  --all  include every file of the', '           folder'],
  ],
  [
    'has its last column below the others where it would be too narrow',
    '  --include-secrets  also publish private keys',
    36,
    ['  --include-secrets', '      also publish private keys'],
  ],
]
for (const [sentence, line, width, lines] of cases)
  it(`a line in a narrow terminal ${sentence}`, () => assert.deepEqual(wrapLine(line, width), lines))

it('a text is filled into the width, and its paragraphs and indented lines stay apart', () => {
  const text = 'one two\nthree\n\nfour\n  five  six\nseven'
  assert.deepEqual(wrapText(text, 11), ['one two', 'three', '', 'four', '  five  six', 'seven'])
  assert.equal(wrapText('word '.repeat(60).trim(), 300)[0]!.length, 99)
})
