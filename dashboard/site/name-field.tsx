import { useState } from 'preact/hooks'
import type { NameCheck } from '../../protocol/api/sites.schema.ts'
import { MAX_NAME_LENGTH, suggestName } from '../../protocol/site-name.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { siteAddress } from '../app/site-address.ts'
import { useDebounced } from '../app/use-debounced.ts'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { toHost } from '../sites/address.ts'

/** A name that a user types for a site. */
export interface NameChoice {
  typed: string
  write: (text: string) => void
  /** As it would be used. */
  name: string
  /** Whether it differs from the name that the site has. */
  isNew: boolean
  isAvailable: boolean
  check: Resource<NameCheck>
}

/**
 * The name that is typed for the site `slug`, checked when the user pauses. `free` is one that is known to be available,
 * with which the field begins.
 */
export function useNameChoice(slug: string, free?: string): NameChoice {
  const [typed, write] = useState(free ?? slug)
  const name = typed.trim().toLowerCase()
  const settled = useDebounced(name)
  const isNew = name !== slug && name !== ''
  const isChecked = isNew && name !== free && settled === name
  const check = useNameCheck(isChecked ? name : undefined)
  const isAvailable = isNew && (name === free || check.value?.available === true)
  return { typed, write, name, isNew, isAvailable, check }
}

function useNameCheck(name: string | undefined): Resource<NameCheck> {
  return useResource(name && `name/${name}`, () => slipway.checkName(name!))
}

interface NameFieldProps {
  label: string
  slug: string
  choice: NameChoice
}

/** The field of a name, with its URL and whether it is available. */
export function NameField({ label, slug, choice }: NameFieldProps) {
  const { typed, write, isNew, check } = choice
  return (
    <TextField
      label={label}
      value={typed}
      maxLength={MAX_NAME_LENGTH}
      autocapitalize="none"
      autocomplete="off"
      hint={<span role="status">{isNew ? describe(choice) : toHost(siteAddress(slug))}</span>}
      error={isNew ? check.value?.reason : undefined}
      onWrite={write}
    />
  )
}

function describe({ name, isAvailable, check: { value, error } }: NameChoice): string {
  if (isAvailable) return `${toHost(siteAddress(name))} is available`
  if (error) return error.title
  return value ? '' : 'Checking…'
}

interface NameSuggestionProps {
  /** A name is made from the first text that allows one. */
  texts: string[]
  /** Names that are not suggested. */
  known: string[]
  /** Whether the name in the field cannot be used. */
  isNeeded: boolean
  onUse: (name: string) => void
}

/** Offers a name that is available. Its place is kept free while it is checked, so that the page does not move when it appears. */
export function NameSuggestion({ texts, known, isNeeded, onUse }: NameSuggestionProps) {
  const name = texts.map(suggestName).find((one) => one !== undefined && !known.includes(one))
  const settled = useDebounced(name ?? '')
  const check = useNameCheck(isNeeded && settled === name ? name : undefined)
  const isOffered = isNeeded && check.value?.available === true
  if (name === undefined) return null
  return (
    <p class={`small ${isOffered ? '' : 'reserved'}`}>
      <Button variant="link" onClick={() => onUse(name)}>
        Use {name}
      </Button>
    </p>
  )
}

/** Acts when Enter is pressed in a field: in a form, the browser would submit that. */
export function onEnter(event: KeyboardEvent, act: () => void): void {
  if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
  event.preventDefault()
  event.stopPropagation()
  act()
}
