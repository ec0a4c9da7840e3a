export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type HtmlValue = string | number | Html | undefined | readonly HtmlValue[]

/** A template for markup: strings are escaped, lists joined, undefined omitted. */
export function html(markup: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(String.raw({ raw: markup }, ...values.map(toMarkup)))
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function toMarkup(value: HtmlValue): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(toMarkup).join('')
  return escapeHtml(String(value))
}
