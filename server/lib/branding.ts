import type { Branding } from '../../protocol/branding.ts'

export interface Logo {
  type: 'image/svg+xml' | 'image/png'
  bytes: Buffer
}

export interface ServiceBranding extends Branding {
  accents?: Accents | undefined
  /** Undefined for that of Slipway. */
  logo?: Logo | undefined
}

/** The color of links and buttons in one color scheme, as `#rrggbb`: the custom properties of `dashboard/style/tokens.css`. */
export interface Accent {
  accent: string
  /** Of a link or button under the pointer. */
  'accent-strong': string
  'accent-soft': string
  'on-accent': string
}

export type Accents = ReturnType<typeof deriveAccents>

/** In the light color scheme, where the operator sets no color: that of `dashboard/style/tokens.css`. */
export const DEFAULT_ACCENT = '#0b5a75'

type Rgb = readonly [red: number, green: number, blue: number]

/** WCAG 2.2, 1.4.3: the contrast of text. */
export const MIN_CONTRAST = 4.5

/** Backgrounds of each color scheme: those of `dashboard/style/tokens.css` with the least contrast. */
const LIGHT_BACKGROUND = '#f0f2f4'
const DARK_BACKGROUND = '#1e2328'
const WHITE = '#ffffff'
const BLACK = '#000000'

/** Part by which a color moves toward black or white until its contrast suffices. */
const STEP = 0.02

/** The color or its nearest shade with `MIN_CONTRAST` at least, as text on all backgrounds and below text. */
export function deriveAccents(color: string) {
  return {
    light: deriveAccent(color, { background: LIGHT_BACKGROUND, toward: BLACK, on: WHITE }),
    dark: deriveAccent(color, { background: DARK_BACKGROUND, toward: WHITE, on: BLACK }),
  }
}

function deriveAccent(
  color: string,
  { background, toward, on }: { background: string; toward: string; on: string },
): Accent {
  const soft = mix(background, color, 0.12)
  const isLegible = (accent: string) =>
    [background, soft, on].every((other) => contrast(accent, other) >= MIN_CONTRAST)
  let accent = color
  for (let part = STEP; !isLegible(accent) && part < 1; part += STEP) accent = mix(color, toward, part)
  return { accent, 'accent-strong': mix(accent, toward, 0.25), 'accent-soft': soft, 'on-accent': on }
}

export function accentStyle({ light, dark }: Accents): string {
  const declare = (accent: Accent) =>
    Object.entries(accent)
      .map(([name, value]) => `--${name}:${value}`)
      .join(';')
  return `:root{${declare(light)}}@media (prefers-color-scheme:dark){:root{${declare(dark)}}}`
}

/** The contrast ratio of two colors, from 1 to 21 (WCAG 2.2). */
export function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: string): number {
  const [red, green, blue] = parse(color).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as unknown as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mix(one: string, other: string, part: number): string {
  const added = parse(other)
  const mixed = parse(one).map((value, at) => Math.round(value + (added[at]! - value) * part))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function parse(color: string): Rgb {
  const value = Number.parseInt(color.slice(1), 16)
  return [value >> 16, (value >> 8) & 0xff, value & 0xff]
}
