// The docs work without this script, which adds a filter and opens the contents where they are beside the text.

const label = document.querySelector<HTMLElement>('.filter')
const field = label?.querySelector('input')
const operations = [...document.querySelectorAll<HTMLElement>('.operation')]

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

if (label && field) {
  label.hidden = false
  field.addEventListener('input', () => filter(field.value))
  // A target that is filtered out could not be scrolled to.
  addEventListener('hashchange', () => {
    if (!document.querySelector(':target[hidden]')) return
    field.value = ''
    filter('')
    document.querySelector(':target')?.scrollIntoView()
  })
}

/** Hides the operations that do not contain all words, their entries in the contents, and sections without operations. */
function filter(text: string): void {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  for (const operation of operations) {
    const head = [...operation.querySelectorAll('h3, .call')].map((part) => part.textContent).join(' ')
    operation.hidden = !words.every((word) => head.toLowerCase().includes(word))
    const entry = document.querySelector(`.contents a[href="#${operation.id}"]`)?.closest('li')
    if (entry) entry.hidden = operation.hidden
  }
  for (const group of document.querySelectorAll<HTMLElement>('.contents .group, main > section')) {
    const parts = group.querySelectorAll<HTMLElement>('.operation, ul li')
    group.hidden = parts.length > 0 && [...parts].every((part) => part.hidden)
  }
}
