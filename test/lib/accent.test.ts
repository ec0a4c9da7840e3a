import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import {
  type Accent,
  contrast,
  DEFAULT_ACCENT,
  deriveAccents,
  MIN_CONTRAST,
} from '../../server/lib/branding.ts'
import { Random } from '../support/random.ts'

const TOKENS = readFileSync(new URL('../../dashboard/style/tokens.css', import.meta.url), 'utf8')
const [LIGHT = '', DARK = ''] = TOKENS.split('@media (prefers-color-scheme: dark)')
const BACKGROUNDS = ['ground', 'surface', 'sunken']

function readToken(css: string, name: string): string {
  return new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(css)![1]!
}

/** The lowest contrast of text in the accent and on it. */
function lowestContrast(css: string, accent: Accent): number {
  const backgrounds = [...BACKGROUNDS.map((name) => readToken(css, name)), accent['accent-soft']]
  const accents = [accent.accent, accent['accent-strong']]
  const pairs = accents.flatMap((one) =>
    [...backgrounds, accent['on-accent']].map((other) => contrast(one, other)),
  )
  return Math.min(...pairs)
}

describe('the color of the operator', () => {
  test('has the contrast of text on every background of the dashboard, light and dark, for any color', () => {
    const random = new Random(20261123)
    const any = () =>
      `#${random
        .below(2 ** 24)
        .toString(16)
        .padStart(6, '0')}`
    const named = [
      '#000000',
      '#ffffff',
      '#ffff00',
      '#ff0000',
      '#00ff00',
      '#0000ff',
      '#777777',
      DEFAULT_ACCENT,
    ]
    for (const color of [...named, ...Array.from({ length: 500 }, any)]) {
      const { light, dark } = deriveAccents(color)
      assert.ok(
        lowestContrast(LIGHT, light) >= MIN_CONTRAST,
        `${color} light: ${lowestContrast(LIGHT, light)}`,
      )
      assert.ok(lowestContrast(DARK, dark) >= MIN_CONTRAST, `${color} dark: ${lowestContrast(DARK, dark)}`)
    }
  })

  test('is used as it is where its contrast suffices', () => {
    for (const [color, light, dark] of [
      ['#0b5a75', '#0b5a75', undefined],
      ['#7fc6dc', undefined, '#7fc6dc'],
      ['#a3271e', '#a3271e', undefined],
    ] as const) {
      const accents = deriveAccents(color)
      assert.ok(light === undefined || accents.light.accent === light, color)
      assert.ok(dark === undefined || accents.dark.accent === dark, color)
    }
    assert.equal(readToken(LIGHT, 'accent'), DEFAULT_ACCENT)
  })
})
