import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PaletteOption } from '../../dashboard/palette/page-commands.ts'
import { ranked } from '../../dashboard/palette/rank.ts'
import { pluck } from '../support/pluck.ts'

const option = (name: string, detail = ''): PaletteOption => ({
  key: name,
  name,
  detail,
  icon: 'page',
  target: '/',
})

test('the command palette offers what is meant first: exact, prefix, word start, within, slug, and recent before older', () => {
  const cases: [text: string, given: PaletteOption[], order: string[]][] = [
    [
      'proj 77',
      [
        option('Project 977'),
        option('Project 777'),
        option('Proj 777'),
        option('Project 49', 'kah77s.test'),
        option('My project 77'),
        option('Project 77'),
      ],
      ['Proj 777', 'Project 77', 'My project 77', 'Project 777', 'Project 977', 'Project 49'],
    ],
    ['project 77', [option('Project 977'), option('Project 77')], ['Project 77', 'Project 977']],
    ['trash', [option('My trash', 'x.test'), option('Trash')], ['Trash', 'My trash']],
    ['oak', [option('Soak'), option('Site', 'oak-tree.test'), option('Oak')], ['Oak', 'Soak', 'Site']],
    ['oak-tree', [option('An oak-tree'), option('Site', 'oak-tree.test')], ['Site', 'An oak-tree']],
    ['CAFE', [option('A Café'), option('Café')], ['Café', 'A Café']],
  ]
  for (const [text, given, order] of cases) assert.deepEqual(pluck(ranked(given, text), 'name'), order, text)
})
