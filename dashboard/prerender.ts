import type { ComponentChildren, FunctionComponent, VNode } from 'preact'

const VOID_ELEMENTS = new Set(['br', 'img', 'input', 'rect', 'path'])
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** The HTML of components without state. */
export function renderToHtml(node: ComponentChildren): string {
  if (node === null || node === undefined || typeof node === 'boolean') return ''
  if (Array.isArray(node)) return node.map(renderToHtml).join('')
  if (typeof node !== 'object') return escapeText(String(node))
  const { type, props } = node as VNode<Record<string, unknown>>
  if (typeof type === 'function') return renderToHtml((type as FunctionComponent)(props))
  const { children, ...attributes } = props
  const opening = `<${type}${Object.entries(attributes).map(toAttribute).join('')}>`
  return VOID_ELEMENTS.has(type) && children === undefined
    ? opening.replace(/>$/, '/>')
    : `${opening}${renderToHtml(children as ComponentChildren)}</${type}>`
}

function toAttribute([name, value]: [string, unknown]): string {
  return value === undefined || value === false ? '' : ` ${name}="${escapeText(String(value))}"`
}

function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ESCAPES[character]!)
}
