/** Markup that is safe to put into a page. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | undefined | readonly Part[]

/** Markup with values in it: texts are escaped, lists are joined, undefined is left out. */
export function html(markup: TemplateStringsArray, ...values: Part[]): Html {
  return new Html(String.raw({ raw: markup }, ...values.map(textOf)))
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function textOf(value: Part): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(textOf).join('')
  return escapeHtml(String(value))
}
