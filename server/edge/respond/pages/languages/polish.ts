import type { VisitorTexts } from './visitor-texts.ts'

export const POLISH: VisitorTexts = {
  siteNotFound: { title: 'Nie znaleziono witryny', text: 'Sprawdź, czy w adresie nie ma literówki.' },
  siteNotPublished: {
    title: 'Witryna nie jest jeszcze opublikowana',
    text: 'Jej pierwsza wersja nie jest kompletna. Spróbuj ponownie później.',
  },
  versionNotFound: {
    title: 'Nie znaleziono wersji',
    text: 'Ta wersja witryny nigdy nie została ukończona albo została usunięta.',
  },
  pageNotFound: { title: 'Nie znaleziono strony', text: 'Sprawdź adres lub zacznij od strony głównej.' },
  siteExpired: { title: 'Ta witryna wygasła', text: 'Została opublikowana na ograniczony czas.' },
  badRequest: { title: 'Nieprawidłowe żądanie', text: 'Adres lub żądanie jest niepoprawne.' },
  misdirected: {
    title: 'Błędnie skierowane żądanie',
    text: 'To połączenie należy do innej witryny. Odśwież stronę.',
  },
  methodNotAllowed: { title: 'Niedozwolona metoda', text: 'Ten adres nie obsługuje tego rodzaju żądań.' },
  preconditionFailed: { title: 'Niespełniony warunek wstępny', text: 'Plik się zmienił.' },
  rangeNotSatisfiable: { title: 'Zakres niedostępny', text: 'Żądana część znajduje się za końcem pliku.' },
  internalError: {
    title: 'Wystąpił błąd',
    text: 'Serwer nie mógł wykonać żądania. Spróbuj ponownie później.',
  },
  unavailable: { title: 'Chwilowo niedostępne', text: 'Spróbuj ponownie za chwilę.' },
  unreadableForm: { title: 'Nie można odczytać formularza', text: 'Wróć i wpisz hasło ponownie.' },
  siteSuspended: { title: 'Ta witryna jest zawieszona', text: 'Operator tej usługi wyłączył ją.' },
  fileBlocked: { title: 'Plik zablokowany', text: 'Operator tej usługi zablokował ten plik.' },
  homePage: 'Przejdź do strony głównej',
  reportAbuse: 'Zgłoś nadużycie',
  terms: 'Regulamin',
  imprint: 'Nota prawna',
  contactOperator: 'Kontakt z operatorem',
  anonymousNotice: {
    title: 'Ta witryna nie jest zweryfikowana',
    text: 'Opublikowano ją bez konta w {service}. Nie podawaj haseł ani danych płatniczych, jeśli nie wiesz, kto ją opublikował.',
    button: 'Przejdź do witryny',
  },
  password: {
    title: 'Ta witryna jest chroniona hasłem',
    text: 'Poproś właściciela o hasło.',
    label: 'Hasło',
    button: 'Otwórz witrynę',
    missing: 'Wpisz hasło.',
    wrong: 'Nieprawidłowe hasło. Spróbuj ponownie.',
    tooManyAttempts: 'Zbyt wiele nieprawidłowych haseł. Spróbuj ponownie za {minutes} min.',
  },
}
