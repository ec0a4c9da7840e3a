import { type Result, search } from './docs/search.ts'

// The docs work without this script, which adds a search and buttons that copy code, and opens the contents where they
// are beside the text.

const contents = document.querySelector<HTMLDetailsElement>('.contents > details')
const isBeside = matchMedia('(min-width: 64rem)')
const fold = () => {
  if (contents) contents.open = isBeside.matches
}
fold()
isBeside.addEventListener('change', fold)
// On a narrow screen the text follows the contents.
contents?.addEventListener('click', ({ target }) => {
  if (target instanceof HTMLAnchorElement) fold()
})

for (const block of document.querySelectorAll('pre')) {
  const frame = document.createElement('div')
  frame.className = 'code'
  block.replaceWith(frame)
  frame.append(block, copyButton(block))
}
addSearch()

/** Says whether it has copied until the next click or until the focus leaves it. */
function copyButton(block: HTMLElement): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.ariaLabel = 'Copy the code'
  button.addEventListener('click', async () => {
    const copied = await copy(block)
    button.ariaLabel = button.textContent = copied ? 'Copied' : 'Press Ctrl+C'
  })
  button.addEventListener('blur', () => {
    button.textContent = 'Copy'
    button.ariaLabel = 'Copy the code'
  })
  return button
}

/** Whether the code is in the clipboard. Where a browser forbids that, such as without HTTPS, the code is selected. */
async function copy(block: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(block.textContent.trimEnd())
    return true
  } catch {
    getSelection()?.selectAllChildren(block)
    return false
  }
}

/** Shows the results of the search in place of the page. `/` moves to the field, Escape shows the page again; `?q=` is a search, too. */
function addSearch(): void {
  const form = document.querySelector<HTMLFormElement>('.search')
  const field = form?.querySelector('input')
  const results = document.querySelector<HTMLElement>('#results')
  if (!form || !field || !results) return
  form.hidden = false
  let index: Promise<Parameters<typeof search>[0]> | undefined
  const show = async () => {
    const text = field.value
    index ??= fetch('/docs/search.json').then((response) => {
      if (!response.ok) throw new Error(`The server responded with ${response.status}`)
      return response.json()
    })
    try {
      const entries = await index
      if (text === field.value) render(results, text, search(entries, text))
    } catch {
      index = undefined
      results.hidden = false
      results.textContent = 'The search could not be loaded. Type again to retry.'
    }
  }
  field.addEventListener('input', show)
  const asked = new URLSearchParams(location.search).get('q')
  if (asked !== null) {
    field.value = asked
    field.focus()
    void show()
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    results.querySelector('a')?.click()
  })
  addEventListener('keydown', (event) => {
    const typing = event.target instanceof HTMLInputElement
    if (event.key === 'Escape' && typing) clear(field, results)
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    field.focus()
  })
  results.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('a')) clear(field, results)
  })
}

function clear(field: HTMLInputElement, results: HTMLElement): void {
  field.value = ''
  results.hidden = true
}

function render(results: HTMLElement, text: string, found: readonly Result[]): void {
  results.hidden = text.trim() === ''
  const count = document.createElement('p')
  count.className = 'quiet'
  count.textContent = found.length === 0 ? 'Nothing found.' : `${found.length} results`
  if (found.length === 1) count.textContent = '1 result'
  const list = document.createElement('ul')
  list.append(...found.map(resultItem))
  results.replaceChildren(count, list)
}

function resultItem({ page, id, title, excerpt }: Result): HTMLLIElement {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = `/docs/${page}${id && `#${id}`}`
  link.textContent = title
  const where = document.createElement('span')
  where.className = 'quiet'
  where.textContent = ` ${document.querySelector(`.contents a[href="/docs/${page}"]`)?.textContent ?? ''}`
  const text = document.createElement('p')
  text.className = 'quiet'
  text.textContent = excerpt
  item.append(link, where, text)
  return item
}
