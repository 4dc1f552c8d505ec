//! The words of the generated web: everyday Russian and English nouns and verbs, their transliteration for addresses, and the
//! names that sites are made of. Which words follow each other is decided by the pages and phrases that use them.

/// Common Russian words, as people type them into a search box.
const RUSSIAN: &str = "купить цена отзывы москва санкт-петербург скачать бесплатно онлайн смотреть фильм сериал новости погода \
работа вакансии резюме квартира аренда продажа недвижимость дом участок ремонт мебель кухня диван окна двери потолок обои \
телефон смартфон ноутбук планшет компьютер телевизор фотоаппарат холодильник стиральная машина пылесос утюг наушники игры \
музыка песня альбом концерт театр кино книга читать автор рецепт салат торт суп мясо рыба овощи фрукты диета здоровье врач \
клиника больница аптека лекарство симптомы лечение беременность дети ребенок школа университет экзамен урок курс перевод \
словарь английский немецкий язык история математика физика химия биология реферат карта дорога маршрут поезд расписание \
самолет билет отель тур отдых море египет турция крым сочи казань екатеринбург новосибирск киев минск автомобиль мотоцикл \
запчасти шины масло двигатель прогноз футбол хоккей чемпионат матч результат счет команда игрок тренер спорт бег фитнес \
платье обувь сумка куртка джинсы женская мужская детская размер скидка распродажа магазин каталог интернет доставка заказ \
оплата банк кредит ипотека вклад курс доллар евро рубль закон суд договор налог пенсия пособие документы паспорт виза \
гороскоп сонник имя значение свадьба подарок поздравление праздник день рождения фото картинки видео обзор форум ответ \
вопрос как сделать своими руками схема вязание вышивка сад огород цветы собака кошка животные птицы рыбалка охота лодка \
инструкция характеристики сравнение рейтинг лучший новый дешево недорого официальный сайт вход регистрация почта страница \
знакомства девушка мужчина женщина любовь отношения психология тест анекдот юмор приколы комедия драма ужасы фантастика";

/// Common English words, for sites and titles in English and for parts of addresses.
const ENGLISH: &str = "news world sport football hockey weather music movie series watch online free download price review \
catalog shop store cart order delivery payment account login profile forum topic question answer article blog post photo gallery \
video album song artist game play level team match result table score player car auto moto engine oil tire house flat rent sale \
region city street map route train flight ticket hotel tour beach sea travel guide visa bank credit loan rate dollar euro tax law \
court document form school student course lesson exam book author reader library language english russian german history science \
health doctor clinic medicine recipe salad cake meat fish food fashion dress shoes bag jacket size color style women men kids baby \
toy gift holiday birthday wedding love dating test horoscope dream name garden flower dog cat animal bird fishing phone tablet \
laptop computer monitor printer camera software driver update version install windows mobile android apple network server hosting \
domain design template project team job vacancy resume salary office company contact service support help about index main";

/// What the names of sites are made of.
const BRANDS: &str = "avto foto kino moda dom sad rabota mir svet novo mega super top best inter rus moy nash vse pro info lite \
max plus city sport tele media radio game soft tech mobi shop torg market bank kredit tur med fit eco art stroy mebel okno nik \
land zone hub port lab club group life time day one";

/// Words with the forms they take in texts and addresses.
#[derive(Debug)]
pub struct Vocabulary {
    /// Cyrillic, UTF-8.
    pub russian: Vec<&'static str>,
    /// Latin.
    pub english: Vec<&'static str>,
    /// The Russian words in Latin letters.
    pub translit: Vec<String>,
    /// The Russian words percent-encoded.
    pub encoded: Vec<String>,
    /// The parts of site names.
    pub brands: Vec<&'static str>,
}

impl Vocabulary {
    /// The one vocabulary there is.
    pub fn new() -> Self {
        let russian: Vec<&str> = RUSSIAN.split_ascii_whitespace().collect();
        Vocabulary {
            translit: russian.iter().map(|word| transliterate(word)).collect(),
            encoded: russian.iter().map(|word| percent_encode(word)).collect(),
            english: ENGLISH.split_ascii_whitespace().collect(),
            brands: BRANDS.split_ascii_whitespace().collect(),
            russian,
        }
    }
}

/// Russian in Latin letters, by the customary table of web addresses.
fn transliterate(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for letter in word.chars() {
        out.push_str(match letter {
            'а' => "a",
            'б' => "b",
            'в' => "v",
            'г' => "g",
            'д' => "d",
            'е' | 'ё' | 'э' => "e",
            'ж' => "zh",
            'з' => "z",
            'и' => "i",
            'й' | 'ы' => "y",
            'к' => "k",
            'л' => "l",
            'м' => "m",
            'н' => "n",
            'о' => "o",
            'п' => "p",
            'р' => "r",
            'с' => "s",
            'т' => "t",
            'у' => "u",
            'ф' => "f",
            'х' => "h",
            'ц' => "ts",
            'ч' => "ch",
            'ш' => "sh",
            'щ' => "sch",
            'ю' => "yu",
            'я' => "ya",
            '-' => "-",
            _ => "",
        });
    }
    out
}

/// Every byte of `word` as `%XX`.
fn percent_encode(word: &str) -> String {
    use std::fmt::Write as _;
    word.bytes().fold(String::with_capacity(word.len() * 3), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "%{byte:02X}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_forms() {
        let words = Vocabulary::new();
        assert!(words.russian.len() > 200 && words.english.len() > 150 && words.brands.len() > 50);
        assert_eq!(words.translit.len(), words.russian.len());
        assert_eq!(transliterate("ещё-щука"), "esche-schuka");
        assert_eq!(percent_encode("дом"), "%D0%B4%D0%BE%D0%BC");
    }
}
