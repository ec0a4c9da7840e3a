import { useEffect, useId, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { useSignOut } from '../account/sign-out.tsx'
import { useResource } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { Dialog } from '../kit/dialog.tsx'
import { Icon } from '../kit/icon.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { useFoundSites } from '../sites/own-sites.ts'
import { docsSearchOption, toSiteOption, usePageOptions } from './options.ts'
import type { PaletteOption } from './page-commands.ts'
import { ranked } from './rank.ts'

/** Sites that are offered before anything is typed. */
const RECENT_SITES = 5

/** Opens pages and own sites by name: a combobox with a list (ARIA practices, "Combobox with listbox popup"). */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const id = useId()
  const [text, write] = useState('')
  const [active, activate] = useState(0)
  const words = text.trim()
  const signOut = useSignOut()
  const { options, error } = useOptions(words, signOut.start)
  const open = useOpen(onClose, signOut.start)
  const current = Math.min(active, options.length - 1)
  const move = (by: number) => activate((current + by + options.length) % Math.max(1, options.length))
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) move(step)
    else if (event.key === 'Enter' && options[current]) open(options[current])
    else return
    event.preventDefault()
  }
  return (
    <>
      <Dialog title="Search" isTitleHidden class="palette" onClose={onClose}>
        <label class="visually-hidden" for={id}>
          Search sites and pages
        </label>
        <span class="adorned search">
          <Icon name="search" size={16} />
          <input
            id={id}
            type="search"
            autocomplete="off"
            placeholder="Search sites and pages"
            value={text}
            onInput={({ currentTarget }) => {
              write(currentTarget.value)
              activate(0)
            }}
            onKeyDown={onKeyDown}
            {...comboboxAttributes(id, options, current)}
          />
        </span>
        <Options id={id} options={options} current={current} onPoint={activate} onOpen={open} />
        <ErrorNotice error={error ?? signOut.error} />
      </Dialog>
      {signOut.question}
    </>
  )
}

/** An object, because the types allow the role only with a `list`. */
function comboboxAttributes(id: string, options: readonly PaletteOption[], current: number): object {
  return {
    role: 'combobox',
    'aria-expanded': options.length > 0,
    'aria-controls': `${id}-list`,
    'aria-activedescendant': options[current] && `${id}-${options[current].key}`,
    'aria-autocomplete': 'list',
  }
}

interface OptionsProps {
  id: string
  options: readonly PaletteOption[]
  current: number
  onPoint: (index: number) => void
  onOpen: (option: PaletteOption) => void
}

function Options({ id, options, current, onPoint, onOpen }: OptionsProps) {
  const key = options[current]?.key
  useEffect(() => {
    if (key) document.getElementById(`${id}-${key}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, key])
  return (
    <div class="palette-options" role="listbox" id={`${id}-list`} aria-label="Results">
      {options.map((option, index) => (
        <button
          type="button"
          key={option.key}
          id={`${id}-${option.key}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === current}
          onPointerMove={() => index !== current && onPoint(index)}
          onClick={() => onOpen(option)}
        >
          <Icon name={option.icon} size={16} />
          <span>{option.name}</span>
          {option.detail && <span class="quiet small">{option.detail}</span>}
        </button>
      ))}
    </div>
  )
}

/** Pages and sites for these words, otherwise a search of the docs; recent sites for no words. */
function useOptions(words: string, signOut: () => unknown) {
  const isSignedIn = useSignal(signedInAs) !== null
  const pages = usePageOptions(words, signOut)
  const recent = useResource(isSignedIn ? 'sites/recent' : undefined, () =>
    slipway.list({ limit: RECENT_SITES }),
  )
  const found = useFoundSites(isSignedIn ? words : '')
  const sites = ((words === '' ? recent : found).value?.publishes ?? []).map(toSiteOption)
  const all = [...pages, ...sites]
  const isComplete = !isSignedIn || found.value !== undefined
  const others = all.length === 0 && isComplete ? [docsSearchOption(words)] : all
  return { options: words === '' ? all : ranked(others, words), error: found.error ?? recent.error }
}

/** Opens a page, or runs an action. Signing out may ask, for which the palette stays. */
function useOpen(onClose: () => void, signOut: () => unknown): (option: PaletteOption) => void {
  const { route } = useLocation()
  return ({ target }) => {
    if (target !== signOut) onClose()
    if (typeof target === 'function') void target()
    else if (target.startsWith('/docs')) location.assign(target)
    else route(target)
  }
}
